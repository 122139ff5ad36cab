// Where the API has one host.

export function hostPath(hostname: string): string {
  return `/operator/v1/hosts/${encodeURIComponent(hostname)}`;
}
