// The product's own clients, with settings that differ from the running system's.

import { createHttp } from '#core/clients/http.ts';
import { createGlance } from '#core/clients/openstack/glance.ts';
import {
  createKeystone,
  type KeystoneOptions,
  ownIdentity,
} from '#core/clients/openstack/keystone/keystone.ts';
import { createNova } from '#core/clients/openstack/nova.ts';
import { createPlacement } from '#core/clients/openstack/placement.ts';
import { silentLog } from '#core/log.ts';
import { keystoneUrl } from './install/configuration.ts';
import { type Stage, servicePassword } from './stage.ts';

export function ownClients(
  { cloud: { plan } }: Stage,
  given: Partial<KeystoneOptions['settings']> = {},
) {
  const http = createHttp();
  const identity = createKeystone({
    settings: {
      url: keystoneUrl(plan),
      publicUrl: keystoneUrl(plan),
      username: 'cyborg',
      password: servicePassword,
      projectName: 'service',
      userDomainName: 'Default',
      projectDomainName: 'Default',
      tokenCacheSeconds: {},
      regionName: plan.region,
      interface: 'internal',
      ...given,
    },
    http,
    clock: Date.now,
    log: silentLog,
  });
  const ownProject = async () => (await ownIdentity(identity))?.projectId;
  return {
    keystone: identity,
    nova: createNova({ identity, http }),
    placement: createPlacement({ identity, http }),
    glance: createGlance({ identity, http, ownProject }),
  };
}
