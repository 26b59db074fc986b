import licet

engine = licet.open()
engine.write_schema("""
definition user {}

definition folder {
    relation viewer: user
    permission view = viewer
}

definition document {
    relation parent: folder
    relation owner: user
    permission edit = owner
    permission view = edit + parent->view
}
""")
engine.touch(
    "document:readme#owner@user:ada",
    "document:readme#parent@folder:shared",
    "folder:shared#viewer@user:bo",
)

print("ada may edit:", engine.allowed("document:readme", "edit", "user:ada"))
print("bo may view: ", engine.allowed("document:readme", "view", "user:bo"))
print("bo may edit: ", engine.allowed("document:readme", "edit", "user:bo"))
print("of two, bo may view:", engine.filter("document", ["readme", "plan"], "view", "user:bo"))
