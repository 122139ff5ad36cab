// The devices of the host whose workloads are counted; see test/integration/counted-units.test.ts.

import type { ReportedDevice } from '#core/contracts/inventory-report.ts';
import { fakeInterface } from '#test/support/gbs.ts';
import { aDevice, aHandle, madeAtBind } from '#test/support/reports.ts';

export const host = 'cmp1';
export const gpu = aDevice({
  address: '0000:0e:00.0',
  type: 'GPU',
  provider_suffix: 'Gpu',
  offers: {
    resource_class: 'VGPU',
    traits: [],
    attach_handles: Array.from({ length: 16 }, (_, at) => ({
      ...{ type: 'MDEV' as const, ...madeAtBind },
      info: { asked_type: 'nvidia-223', vgpu_mark: `nvidia-223_${at}` },
    })),
  },
});
/** Its mdevs are made ahead, and removed after each holder. */
export const pool = aDevice({
  address: '0000:0f:00.0',
  type: 'GPU',
  provider_suffix: 'Pool',
  offers: {
    resource_class: 'VGPU',
    traits: ['CUSTOM_POOL'],
    attach_handles: Array.from({ length: 16 }, (_, at) => ({
      ...{ type: 'MDEV' as const, prepare: 'ahead' as const, clean_seconds: 300 },
      info: { asked_type: 'nvidia-223', vgpu_mark: `nvidia-223_${at}` },
    })),
  },
});
export const nic = aDevice({ address: '0000:0c:00.0', provider_suffix: 'Nic', handles: 16 });
const region: ReportedDevice['regions'][number] = {
  name: 'region0',
  kind: 'reconfigurable-region',
  resource_class: 'FPGA',
  traits: ['CUSTOM_REGION'],
  attach_handles: [aHandle(1)],
  'region-type-uuid': fakeInterface,
};
export const fpga = (held: Partial<typeof region> = {}) =>
  aDevice({
    address: '0000:0d:00.0',
    provider_suffix: 'Fpga',
    offers: undefined,
    regions: [{ ...region, ...held }],
  });
