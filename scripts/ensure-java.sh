#!/usr/bin/env bash
# Makes sure that Spark finds a Java runtime of at least version 17, installing one where that is possible.
set -euo pipefail

readonly NEEDED=17

# Prints the major version of the given java program; nothing when it does not run.
major_of() {
    local version
    version=$("$1" -version 2>&1 | sed -n 's/.*version "\([^"]*\)".*/\1/p' | head -n 1) || true
    version=${version#1.} # Java 8 calls itself 1.8
    printf '%s' "${version%%[.+-]*}"
}

fits() {
    local major
    major=$(major_of "$1")
    [[ $major =~ ^[0-9]+$ ]] && ((major >= NEEDED))
}

# Spark prefers JAVA_HOME to the PATH, so a wrong JAVA_HOME is an error even where a good java is on the PATH.
if [[ -n ${JAVA_HOME:-} ]]; then
    if [[ -x $JAVA_HOME/bin/java ]] && fits "$JAVA_HOME/bin/java"; then exit 0; fi
    echo "Java: JAVA_HOME ($JAVA_HOME) holds no Java $NEEDED or newer, which Spark needs." \
        "Unset it or point it at a newer one." >&2
    exit 1
fi

if command -v java >/dev/null && fits java; then exit 0; fi

if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "Java: Spark needs a Java runtime of version $NEEDED or newer. Install the package" \
        "openjdk-17-jre-headless (or a newer openjdk-*-jre-headless) and run this again." >&2
    exit 1
fi

echo "Java: no version $NEEDED or newer found, installing one with apt-get"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# The long-term versions that Spark is tested with come first, then whatever is newest.
newest=$(apt-cache pkgnames openjdk- | grep -E '^openjdk-[0-9]+-jre-headless$' | sort -t- -k2 -n | tail -n 1)
for package in openjdk-17-jre-headless openjdk-21-jre-headless "$newest"; do
    if [[ -n $(apt-cache madison "$package") ]]; then break; fi
done
apt-get install -y -qq --no-install-recommends "$package" >/dev/null
if ! fits java; then
    echo "Java: installed $package, but 'java' on the PATH is still older than $NEEDED." >&2
    exit 1
fi
