// What an application credential with access rules may call, as keystonemiddleware decides it.
// https://docs.openstack.org/keystone/latest/user/application_credentials.html#access-rules

export interface AccessRule {
  readonly method: string;
  /** `*` and `{tag}` stand for one segment of the path, `**` for any number. */
  readonly path: string;
  /** The type of a service of the catalog. */
  readonly service: string;
}

const serviceType = 'accelerator';

/** @param call the path as the caller has sent it, without the query */
export function isCallAllowed(
  rules: readonly AccessRule[],
  call: { readonly method: string; readonly path: string },
): boolean {
  return rules.some(
    ({ service, method, path }) =>
      service === serviceType && method === call.method && isPathOf(path, call.path),
  );
}

/**
 * Compares character by character, because a tenant writes the pattern: a regular expression made
 * of it could take minutes.
 */
function isPathOf(pattern: string, path: string): boolean {
  const parts = pattern.match(/\{[^}]*\}|\*\*|\*|[^{}*]/g) ?? [];
  let places = withEmptyParts(parts, [0]);
  for (const character of path) {
    const next = [...places].flatMap((at) => placesAfter(parts[at], at, character));
    places = withEmptyParts(parts, next);
  }
  return places.has(parts.length);
}

function placesAfter(part: string | undefined, at: number, character: string): number[] {
  if (part === undefined) return [];
  if (part === '**') return [at];
  const isSegment = part === '*' || part.startsWith('{');
  if (isSegment) return character === '/' ? [] : [at, at + 1];
  return part === character ? [at + 1] : [];
}

/** `**` may stand for nothing. */
function withEmptyParts(parts: readonly string[], places: readonly number[]): Set<number> {
  const all = new Set<number>();
  for (let at of places) {
    all.add(at);
    while (parts[at] === '**') {
      at += 1;
      all.add(at);
    }
  }
  return all;
}
