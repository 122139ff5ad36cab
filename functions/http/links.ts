// Links in Cyborg's form.

import type { APIGatewayProxyEventV2 } from 'aws-lambda';

export interface Link {
  readonly href: string;
  readonly rel: 'self' | 'bookmark' | 'next';
}

/** Scheme and host that the caller used, or the deployment's public endpoint. */
export function baseUrl(event: APIGatewayProxyEventV2, publicEndpoint: string | undefined): string {
  if (publicEndpoint) return publicEndpoint.replace(/\/+$/, '');
  const scheme = event.headers['x-forwarded-proto'] ?? 'https';
  return `${scheme}://${event.headers.host || event.requestContext.domainName}`;
}

interface PageAt {
  readonly base: string;
  readonly path: string;
  readonly query: object;
}

/** @param next the marker of the next page; undefined on the last page */
export function pageReply(
  collection: string,
  rows: readonly unknown[],
  { base, path, query }: PageAt,
  next: string | undefined,
): Record<string, unknown> {
  if (next === undefined) return { [collection]: rows };
  const parameters = Object.entries({ ...query, marker: next })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const link: Link = { href: `${base}/accelerator${path}?${parameters.join('&')}`, rel: 'next' };
  return { [collection]: rows, [`${collection}_links`]: [link] };
}

/** `path` is below the version, e.g. `/devices/<uuid>`. */
export function selfLink(base: string, path: string): Link {
  return { href: `${base}/accelerator/v2${path}`, rel: 'self' };
}
