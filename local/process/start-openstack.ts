// Starts the fake services that are not replaced by real ones.

import { join } from 'node:path';
import { startGlance } from '#local/openstack/glance.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { startNova } from '#local/openstack/nova/nova.ts';
import { startPlacement } from '#local/openstack/placement/placement.ts';
import type { Running } from '#local/ports.ts';
import { host, type Layout, type PortName, urlOf } from './layout.ts';

export async function startOpenStack(layout: Layout): Promise<Running> {
  const at = (name: PortName) => ({
    host,
    port: layout.ports[name],
    stateFile: join(layout.directory, 'openstack', `${name}.json`),
  });
  const keystoneUrl = process.env.KEYSTONE_URL ?? `${urlOf(layout, 'keystone')}/v3`;
  const endpoints = {
    placement: process.env.PLACEMENT_URL ?? urlOf(layout, 'placement'),
    compute: process.env.NOVA_URL ?? `${urlOf(layout, 'nova')}/v2.1`,
    image: process.env.GLANCE_URL ?? urlOf(layout, 'glance'),
    accelerator: `${urlOf(layout, 'api')}/accelerator/v2`,
  };
  const services: Running[] = [];
  if (!layout.replaced.includes('keystone'))
    services.push(await startKeystone({ ...at('keystone'), endpoints }));
  if (!layout.replaced.includes('placement'))
    services.push(await startPlacement({ ...at('placement'), keystoneUrl }));
  if (!layout.replaced.includes('nova'))
    services.push(await startNova({ ...at('nova'), keystoneUrl }));
  if (!layout.replaced.includes('glance'))
    services.push(await startGlance({ ...at('glance'), keystoneUrl }));
  return {
    stop: async () => {
      await Promise.all(services.map((service) => service.stop()));
    },
  };
}
