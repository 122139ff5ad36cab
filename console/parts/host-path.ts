// Where the API has one host.

import { lists } from '#core/contracts/api/lists.ts';

export function hostPath(hostname: string): string {
  return `${lists.hosts.path}/${encodeURIComponent(hostname)}`;
}
