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
  return `${scheme}://${event.headers.host ?? event.requestContext.domainName}`;
}

/** `path` is below the version, e.g. `/devices/<uuid>`. */
export function selfLink(base: string, path: string): Link {
  return { href: `${base}/accelerator/v2${path}`, rel: 'self' };
}
