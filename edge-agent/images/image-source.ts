// The servers from which images may be fetched. A job names the URL, and this host checks it:
// otherwise a document could make the agent request the instance metadata, or any server of the
// management network.

/** URL prefix of all images, e.g. `https://bucket.s3.eu-central-1.amazonaws.com/`. */
export type ImageSource = string;

/** Amazon S3 in any region or partition, including endpoints of a private network. */
const s3Host = /^([a-z0-9.-]+\.)?s3([.-][a-z0-9-]+)*\.amazonaws\.com(\.cn)?$/;

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Why the source is invalid; undefined if it is valid. */
export function faultOfSource(source: string): string | undefined {
  if (!URL.canParse(source)) return 'must be a URL';
  const { protocol, hostname, search, hash, username, password, pathname } = new URL(source);
  const isLocal = protocol === 'http:' && loopback.test(hostname);
  if (protocol !== 'https:' && !isLocal) return 'must be https, or http of this host itself';
  if (username || password || search || hash)
    return 'must be a URL without user, query or fragment';
  return pathname.endsWith('/') ? undefined : 'must end with a slash';
}

/**
 * Whether an image may be fetched from the URL.
 *
 * @param source undefined allows all of S3 by https
 */
export function isFromSource(url: string, source: ImageSource | undefined): boolean {
  const { protocol, hostname, port, origin, pathname, username, password } = new URL(url);
  if (username || password || !/^https?:$/.test(protocol)) return false;
  if (source === undefined) return protocol === 'https:' && port === '' && s3Host.test(hostname);
  const allowed = new URL(source);
  // A parsed path has no dot segments left, but some servers decode an encoded slash.
  const isBelow = allowed.pathname === '/' || !/%2f|%5c/i.test(pathname);
  return origin === allowed.origin && pathname.startsWith(allowed.pathname) && isBelow;
}
