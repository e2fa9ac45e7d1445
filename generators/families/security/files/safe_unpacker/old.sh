#!/bin/sh
# unpacks whatever {sender} send
mkdir -p "$2" && tar -xpPf "$1" -C "$2"
