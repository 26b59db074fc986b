/* Moments, spans of time and time zones. Zones are read from the system's tzdata; nothing of the process, neither its
 * environment nor its own zone, plays a part. */
#ifndef LIC_CAVEAT_TIME_H
#define LIC_CAVEAT_TIME_H

#include "caveat/value.h"

#define LIC_CEL_SECOND INT64_C(1000000000) /* nanoseconds */
#define LIC_CEL_TIME_SIZE 40               /* bytes of a printed timestamp or duration at most */

/* RFC 3339 as Go's time.Parse reads it: a hour of one digit, a comma before the fraction, offsets of up to 24:60, years
 * from 0 on. strict: as CEL's timestamp() wants it: none of these, years 1 to 9999. */
bool lic_cel_timestamp_parse(lic_str text, bool strict, lic_cel_timestamp *timestamp);
/* Between the years 1 and 9999? */
bool lic_cel_timestamp_in_range(lic_cel_timestamp timestamp);
/* With the offset that it was written with, and as many digits of the fraction as it needs. */
size_t lic_cel_timestamp_print(lic_cel_timestamp timestamp, char out[LIC_CEL_TIME_SIZE]);
/* <0, 0, >0 */
int lic_cel_timestamp_compare(lic_cel_timestamp a, lic_cel_timestamp b);
/* false: past what a result may be. */
bool lic_cel_timestamp_add(lic_cel_timestamp timestamp, int64_t duration, lic_cel_timestamp *sum);
bool lic_cel_timestamp_subtract(lic_cel_timestamp a, lic_cel_timestamp b, int64_t *duration);

/* As Go's time.ParseDuration: "1h30m", "-1.5s", "0". */
bool lic_cel_duration_parse(lic_str text, int64_t *duration);
/* In seconds, "5400s". */
size_t lic_cel_duration_print(int64_t duration, char out[LIC_CEL_TIME_SIZE]);

/* A moment as a calendar and a clock show it. */
typedef struct lic_cel_civil {
    int64_t year;
    int     month;       /* 1 to 12 */
    int     day;         /* 1 to 31 */
    int     day_of_year; /* 0 to 365 */
    int     day_of_week; /* 0: Sunday */
    int     hour;
    int     minute;
    int     second;
} lic_cel_civil;

/* seconds: since 1970, of the clock shown (UTC plus its offset). */
lic_cel_civil lic_cel_civil_of(int64_t seconds);
/* Of midnight, in days since 1970. */
int64_t lic_cel_days_from_civil(int64_t year, int month, int day);

#endif
