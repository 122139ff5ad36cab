// A body for each route that takes one, as the OpenAPI document shows it.

import type { RouteRow } from '#functions/routes.ts';

const arq = '3f1c6b5e-9a4d-7c2b-8e1f-0123456789ab';
const image = '0f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b';

const bind = [
  { op: 'add', path: '/hostname', value: 'cmp1.example.org' },
  { op: 'add', path: '/device_rp_uuid', value: '2c3d4e5f-6a7b-3c8d-9e0f-1a2b3c4d5e6f' },
  { op: 'add', path: '/instance_uuid', value: '7d8e9f0a-1b2c-4d3e-8f4a-5b6c7d8e9f0a' },
];

const examples: Readonly<Record<string, unknown>> = {
  'device-profiles.create': [
    {
      name: 'fpga-encrypt',
      groups: [{ 'resources:FPGA': '1', 'trait:CUSTOM_FPGA_INTEL': 'required' }],
    },
  ],
  'accelerator-requests.create': { device_profile_name: 'fpga-encrypt' },
  'accelerator-requests.update': { [arq]: bind },
  'devices.update': [{ op: 'replace', path: '/status', value: 'maintaining' }],
  'devices.force-release': { reason: 'The card was reset by hand.' },
  'deployables.update': [{ op: 'add', path: '/bitstream', value: image }],
  'deployables.program': [{ op: 'replace', path: '/program', value: [{ image_uuid: image }] }],
  'operator.set-quota': { limits: { FPGA: 4, VGPU: null } },
  'attributes.create': { deployable_id: 1_099_511_627_776, key: 'location', value: 'rack 12' },
  'operator.reconcile': { host: 'cmp1.example.org', dry_run: true },
  'operator.reap': { dry_run: true },
  'operator.settle-host': { boot_id: '533d1d8e-ae7c-44ff-8b80-48ed722a57cd' },
  'operator.set-baseline': { version: '2.0.4' },
  'operator.create-hold': { model: '10de:20b5', firmware: '<1.2', reason: 'It resets itself.' },
  'operator.reset-device': { reason: 'Its ECC counters grow.' },
  'operator.grant-device': { project_id: '7a1f0c9e6f5b4d0f8a52', until: '2030-01-01T00:00:00Z' },
  'operator.revoke-device': { project_id: '7a1f0c9e6f5b4d0f8a52' },
  'operator.update-profile': { name: 'fpga', groups: [{ 'resources:FPGA': '2' }] },
  'operator.disable-profile': { reason: 'Use fpga-b.' },
  'operator.drain-host': { reason: 'A fan is replaced.', until: '2026-07-01T06:00:00Z' },
};

export function exampleBody({ resource, action }: Pick<RouteRow, 'resource' | 'action'>): unknown {
  return examples[`${resource}.${action}`];
}
