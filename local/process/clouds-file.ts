// clouds.yaml of the local cloud, for `openstack` and `cyborg-ops`.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { domain, password, region } from '#local/openstack/keystone/catalog.ts';
import { type Layout, urlOf } from './layout.ts';

export const cloudsFileName = 'clouds.yaml';

/** Clouds `admin` and `demo`: a user and a project of that name. */
export function writeCloudsFile(layout: Layout): void {
  const clouds = Object.fromEntries(['admin', 'demo'].map((name) => [name, cloudOf(layout, name)]));
  writeFileSync(join(layout.directory, cloudsFileName), stringify({ clouds }), { mode: 0o600 });
}

function cloudOf(layout: Layout, name: string) {
  return {
    auth: {
      auth_url: `${urlOf(layout, 'keystone')}/v3`,
      username: name,
      password,
      project_name: name,
      user_domain_name: domain.name,
      project_domain_name: domain.name,
    },
    region_name: region,
    identity_api_version: 3,
  };
}
