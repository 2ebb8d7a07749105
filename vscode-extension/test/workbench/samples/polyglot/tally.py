def number(text):
    try:
        return int(text)
    except ValueError:
        print("no number")
        return 0


number(input("tally? "))
