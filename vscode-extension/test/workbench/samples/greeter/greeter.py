def greet(names):
    greetings = []
    for name in names:
        greetings.append(f"hello {name}")
    return greetings


count = int(input("how many? "))
for line in greet(["ann", "bob", "eve"][:count]):
    print(line)
