// The devices of the host whose workloads are counted; see test/integration/counted-units.test.ts.

import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { fakeInterface } from '#test/support/hosts/gbs.ts';
import { aDevice, aGpu, aHandle } from '#test/support/reports.ts';

export const host = 'cmp1';
const mdevs = Array.from({ length: 16 }, (_, at) => {
  return { asked_type: 'nvidia-223', vgpu_mark: `nvidia-223_${at}` };
});
export const gpu = aGpu(mdevs);
/** Its mdevs are made ahead, and removed after each holder. */
export const pool = aDevice({
  address: '0000:0f:00.0',
  type: 'GPU',
  provider_suffix: 'Pool',
  offers: {
    resource_class: 'VGPU',
    traits: ['CUSTOM_POOL'],
    attach_handles: mdevs.map((info) => {
      return { type: 'MDEV', info, prepare: 'ahead', clean_seconds: 300 };
    }),
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
