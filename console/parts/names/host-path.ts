// The path of one host in the API.

import { lists } from '#core/contracts/api/lists/lists.ts';

export function hostPath(hostname: string): string {
  return `${lists.hosts.path}/${encodeURIComponent(hostname)}`;
}
