// The form of the accelerator service's endpoint in the catalog.

/**
 * Why Nova could not use the endpoint, with the one to give; undefined if it could. Nova appends
 * `/device_profiles` to the endpoint as it is, while the openstack client looks for /v2 itself.
 */
export function endpointFault(url: string): string | undefined {
  const plain = url.replace(/\/+$/, '');
  if (plain.endsWith('/v2')) return undefined;
  const { pathname, origin } = new URL(url);
  const mount = /^(\/.*?)?\/accelerator(?=\/|$)/.exec(pathname)?.[0] ?? '/accelerator';
  return `must end in /v2, because Nova appends its paths to it: give ${origin}${mount}/v2.`;
}
