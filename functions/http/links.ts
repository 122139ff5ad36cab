// Links and timestamps in Cyborg's form.

import type { APIGatewayProxyEventV2 } from 'aws-lambda';

export interface Link {
  readonly href: string;
  readonly rel: string;
}

/** Scheme and host that the caller used, or the deployment's public endpoint. */
export function baseUrl(event: APIGatewayProxyEventV2, publicEndpoint: string | undefined): string {
  if (publicEndpoint) return publicEndpoint.replace(/\/+$/, '');
  const scheme = event.headers['x-forwarded-proto'] ?? 'https';
  return `${scheme}://${event.headers.host ?? event.requestContext.domainName}`;
}

/** `path` is below the version, e.g. `/devices/<uuid>`. */
export function selfLink(base: string, path: string): Link {
  return { href: `${base}/accelerator/v2${path}`, rel: 'self' };
}

/** `2026-07-01T01:02:03+00:00`, or null if there is no time. */
export function timestamp(iso: string | undefined): string | null {
  return iso === undefined ? null : `${iso.slice(0, 19)}+00:00`;
}
