"""Sums the prices of records that come packed. It takes for a price what is none."""
import base64
import json
import zlib

PACKED = "eNp9k8sKwjAQRX8lZC0lk3f8FRGpEkGsD4jURem/my4TZ2aXCeFwuLlzWOQ0nvMk90LOuZQ8CSV3Qr5v+ZJLvYU6lM/r+zxdc66zqfM8lns9LvIxlu2NGtS67sQ/ChqU6VBWISwYHM7SDct1rBAQlqG8TMPSHUtbhGUpL9uwbMfygLA85eXY6COCCpSW56N3CCtRWoGNPmrsGxUlFvnsEwbTlFniw/cYzFBmwDcfsOqDI7vPl9+h5fekG1//iNUfIunGL4DBFgDS5nb8AagROXw="


def unpack(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def total(records):
    cost = 0
    for record in records:
        cost += record.get("price", 0) * record["pieces"]
    return cost


crates = unpack(PACKED)
print("to pay:", total(crates))
