// Takes out of a text what must not be sent to others: the host's own names, serial numbers, and
// addresses of networks. A name that it cannot know, such as in the words of a vendor's program,
// may be left: the person who sends the text reads it before.

const patterns: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/(?<![0-9a-f:])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![0-9a-f:])/gi, '<mac>'],
  // InfiniBand and IPv6; a PCI address has three parts.
  [/(?<![0-9a-f:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![0-9a-f:.])/gi, '<address>'],
  [/(?<![0-9a-f:])(?:[0-9a-f]{0,4}:){4,7}[0-9a-f]{0,4}(?![0-9a-f:.])/gi, '<address>'],
  [/(?<![0-9a-f:])[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*::[0-9a-f:]*/gi, '<address>'],
  [/(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/g, '<address>'],
  // Sentences of the guards (guards/uses/uses.ts): mount points, names of file systems, volumes,
  // processes and servers.
  [/(has a mounted file system: \S+ at )\S.*?(?=$|;|\. | \(|\.$)/g, '$1<path>'],
  [/(has a mounted file system: \S+ is part of \S+) .*?(?=$|\.$)/g, '$1 <name>'],
  [/\b((?:dm|md|drbd|bcache)-?\w*) \([^)]*\)/g, '$1'],
  [/\bprocess \d+ \([^)]*\)/g, 'a process'],
  [/\bprocess \d+\b/g, 'a process'],
  [/(the domain ).*?( of libvirt)/g, '$1<name>$2'],
  [/(\/(?:home|root|mnt|media|srv|tmp|run\/media)\/)[^\s:,;]+/g, '$1<path>'],
];

/** A shorter name may be a word of the text. */
const lengthMin = 4;

/** @param names of the host, and serial numbers that were read on it */
export function scrub(text: string, names: readonly string[]): string {
  const secrets = [...new Set(names.map((name) => name.trim()))]
    .filter((name) => name.length >= lengthMin && !/^(localhost|none|unknown|n\/a)$/i.test(name))
    .sort((one, other) => other.length - one.length);
  const plain = secrets.reduce((left, name) => left.replaceAll(name, '<name>'), text);
  return patterns.reduce((left, [pattern, by]) => left.replace(pattern, by), plain);
}
