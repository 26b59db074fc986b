// Answers and times the requests of bench/compare over gRPC from Go, by SpiceDB's own client library: the quickest caller
// that SpiceDB has. Callers are goroutines, each with a connection of its own; requests are built before they are timed.
//
//	SPICEDB_KEY=... spicedb_caller FOLDER HOST:PORT
//
// Obeys the commands of bench/caller.c, which describes them; `empty` for the consistency times an empty call, that of the
// server's health. Every call is timed alone.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "github.com/authzed/authzed-go/proto/authzed/api/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// What is asked, in one of three kinds; the others are nil.
type request struct {
	check  *v1.CheckPermissionRequest
	bulk   *v1.CheckBulkPermissionsRequest
	lookup *v1.LookupResourcesRequest
}

type timing struct {
	MedianNs  float64 `json:"median_ns"`
	P99Ns     float64 `json:"p99_ns"`
	PerSecond float64 `json:"per_second"`
	Calls     int     `json:"calls"`
	Batch     int     `json:"batch"`
}

type session struct {
	folder, address string
	ctx             context.Context
	lines           [][]string
	connections     []*grpc.ClientConn
}

// ------------------------------------------------------------------- requests

func object(text string) *v1.ObjectReference {
	kind, id, _ := strings.Cut(text, ":")
	return &v1.ObjectReference{ObjectType: kind, ObjectId: id}
}

func subject(text string) *v1.SubjectReference {
	return &v1.SubjectReference{Object: object(text)}
}

func consistency(level string) *v1.Consistency {
	if level == "full" {
		return &v1.Consistency{Requirement: &v1.Consistency_FullyConsistent{FullyConsistent: true}}
	}
	return &v1.Consistency{Requirement: &v1.Consistency_MinimizeLatency{MinimizeLatency: true}}
}

// From the words of a line.
func build(words []string, level string) request {
	switch words[0] {
	case "check":
		return request{check: &v1.CheckPermissionRequest{
			Consistency: consistency(level), Resource: object(words[1]), Permission: words[2], Subject: subject(words[3]),
		}}
	case "bulk":
		bulk := &v1.CheckBulkPermissionsRequest{Consistency: consistency(level)}
		for at := 2; at+2 < len(words); at += 3 {
			bulk.Items = append(bulk.Items, &v1.CheckBulkPermissionsRequestItem{
				Resource: object(words[at]), Permission: words[at+1], Subject: subject(words[at+2]),
			})
		}
		return request{bulk: bulk}
	case "lookup":
		return request{lookup: &v1.LookupResourcesRequest{
			Consistency: consistency(level), ResourceObjectType: words[1], Permission: words[2], Subject: subject(words[3]),
		}}
	}
	log.Fatalf("not a request: %v", words)
	return request{}
}

func (s *session) build(level string) []request {
	requests := make([]request, len(s.lines))
	for i, words := range s.lines {
		requests[i] = build(words, level)
	}
	return requests
}

// ------------------------------------------------------------------- calls

// Anything that is neither yes nor no is an error.
func allowed(permissionship v1.CheckPermissionResponse_Permissionship) (bool, error) {
	switch permissionship {
	case v1.CheckPermissionResponse_PERMISSIONSHIP_HAS_PERMISSION:
		return true, nil
	case v1.CheckPermissionResponse_PERMISSIONSHIP_NO_PERMISSION:
		return false, nil
	}
	return false, fmt.Errorf("neither yes nor no: %v", permissionship)
}

func askBulk(ctx context.Context, client v1.PermissionsServiceClient, bulk *v1.CheckBulkPermissionsRequest) ([]bool, error) {
	response, err := client.CheckBulkPermissions(ctx, bulk)
	if err != nil {
		return nil, err
	}
	answers := make([]bool, len(response.Pairs))
	for i, pair := range response.Pairs {
		if answers[i], err = allowed(pair.GetItem().GetPermissionship()); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func lookUp(ctx context.Context, client v1.PermissionsServiceClient, lookup *v1.LookupResourcesRequest) ([]string, error) {
	stream, err := client.LookupResources(ctx, lookup)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for {
		found, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		if found.Permissionship != v1.LookupPermissionship_LOOKUP_PERMISSIONSHIP_HAS_PERMISSION {
			return nil, fmt.Errorf("neither yes nor no: %v", found.Permissionship)
		}
		ids = append(ids, found.ResourceObjectId)
	}
}

func ask(ctx context.Context, client v1.PermissionsServiceClient, r request) (any, error) {
	switch {
	case r.bulk != nil:
		return askBulk(ctx, client, r.bulk)
	case r.lookup != nil:
		return lookUp(ctx, client, r.lookup)
	}
	response, err := client.CheckPermission(ctx, r.check)
	if err != nil {
		return nil, err
	}
	return allowed(response.Permissionship)
}

// ------------------------------------------------------------------- commands

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (s *session) connection(number int) *grpc.ClientConn {
	for len(s.connections) <= number {
		connection, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(err)
		s.connections = append(s.connections, connection)
	}
	return s.connections[number]
}

// What a caller does over its connection, each time with the next of the requests.
func (s *session) caller(number int, level string, requests []request) func(at int) error {
	if level == "empty" {
		client := grpc_health_v1.NewHealthClient(s.connection(number))
		return func(int) error {
			_, err := client.Check(s.ctx, &grpc_health_v1.HealthCheckRequest{})
			return err
		}
	}
	client := v1.NewPermissionsServiceClient(s.connection(number))
	return func(at int) error {
		_, err := ask(s.ctx, client, requests[at%len(requests)])
		return err
	}
}

func (s *session) readRequests(name string) any {
	text, err := os.ReadFile(filepath.Join(s.folder, name))
	must(err)
	s.lines = nil
	for line := range strings.Lines(string(text)) {
		s.lines = append(s.lines, strings.Fields(line))
	}
	return map[string]int{"requests": len(s.lines)}
}

func (s *session) answer(level string) any {
	answers := []any{}
	client := v1.NewPermissionsServiceClient(s.connection(0))
	for _, r := range s.build(level) {
		answer, err := ask(s.ctx, client, r)
		must(err)
		answers = append(answers, answer)
	}
	return answers
}

// Nanoseconds of each call, and the seconds that all took.
func run(call func(at int) error, at int, warmup, during time.Duration) ([]float64, float64) {
	for end := time.Now().Add(warmup); time.Now().Before(end); at++ {
		must(call(at))
	}
	samples := []float64{}
	start := time.Now()
	for ; time.Since(start) < during; at++ {
		before := time.Now()
		must(call(at))
		samples = append(samples, float64(time.Since(before)))
	}
	return samples, time.Since(start).Seconds()
}

func (s *session) time(level string, callers int, warmup, during time.Duration) any {
	requests := s.build(level)
	samples := make([][]float64, callers)
	seconds := make([]float64, callers)
	var all sync.WaitGroup
	for i := range callers {
		call := s.caller(i, level, requests)
		all.Add(1)
		go func() {
			defer all.Done()
			samples[i], seconds[i] = run(call, len(requests)*i/callers, warmup, during)
		}()
	}
	all.Wait()
	told := timing{Batch: 1}
	for i := range callers {
		told.PerSecond += float64(len(samples[i])) / seconds[i]
	}
	ordered := slices.Sorted(slices.Values(slices.Concat(samples...)))
	told.Calls = len(ordered)
	told.MedianNs = ordered[(len(ordered)-1)/2]
	told.P99Ns = ordered[(len(ordered)-1)*99/100]
	return told
}

func duration(text string) time.Duration {
	seconds, err := strconv.ParseFloat(text, 64)
	must(err)
	return time.Duration(seconds * float64(time.Second))
}

func (s *session) obey(words []string) any {
	switch {
	case len(words) == 2 && words[0] == "requests":
		return s.readRequests(words[1])
	case len(words) == 2 && words[0] == "answer":
		return s.answer(words[1])
	case len(words) == 5 && words[0] == "time":
		callers, err := strconv.Atoi(words[2])
		must(err)
		return s.time(words[1], callers, duration(words[3]), duration(words[4]))
	}
	log.Fatalf("not a command: %v", words)
	return nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: SPICEDB_KEY=... spicedb_caller FOLDER HOST:PORT")
	}
	key := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+os.Getenv("SPICEDB_KEY"))
	s := &session{folder: os.Args[1], address: os.Args[2], ctx: key}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		must(json.NewEncoder(os.Stdout).Encode(s.obey(strings.Fields(commands.Text()))))
	}
	must(commands.Err())
}
