// Images in Glance, and device profiles for each kind of device.

import { boardComponent, boardModel } from './drivers/board-driver.ts';
import { regionInterface } from './hardware.ts';
import type { Profile } from './openstack/nova.ts';
import type { Image } from './openstack/openstack.ts';

const image = (number: number): Image => ({
  id: `0f1a2b3c-0000-4000-8000-00000000000${number}`,
  name: `image-${number}.gbs`,
  functionUuid: `d8424dc4-a4a3-c413-f89e-43368000000${number}`,
  interfaceUuid: regionInterface,
});
const first = image(1);
const second = image(2);
/** An image for an interface that the regions do not have. */
const wrong: Image = {
  id: '0f1a2b3c-0000-4000-8000-0000000000ff',
  name: 'wrong.gbs',
  functionUuid: 'd8424dc4-a4a3-c413-f89e-4336800000ff',
  interfaceUuid: '00000000-eb31-577a-8c36-68f9faa081f6',
};
/** Images for the component of the board. */
export const firmware = ['2.0', '3.0'].map(
  (version, index): Image => ({
    ...image(8 + index),
    properties: {
      'accel:component': boardComponent,
      'accel:models': boardModel,
      'accel:version': version,
    },
  }),
);
export const images: readonly Image[] = [first, second, wrong, ...firmware];

const vgpu = { 'resources:VGPU': '1', 'trait:CUSTOM_SIM_GPU': 'required' };
const nic = { 'resources:CUSTOM_NIC': '1', 'trait:CUSTOM_SIM_NIC': 'required' };
const region = { 'resources:FPGA': '1', 'trait:CUSTOM_SIM_FPGA': 'required' };
const fpga = ({ id }: Image) => ({ ...region, 'accel:bitstream_id': id });

export const profiles: readonly Profile[] = [
  { name: 'nic', groups: [nic] },
  { name: 'nic2', groups: [{ ...nic, 'resources:CUSTOM_NIC': '2' }] },
  { name: 'vgpu', groups: [vgpu] },
  { name: 'vgpu2', groups: [{ ...vgpu, 'resources:VGPU': '2' }] },
  { name: 'fpga', groups: [region] },
  { name: 'fpga1', groups: [fpga(first)] },
  { name: 'fpga2', groups: [fpga(second)] },
  { name: 'fpga-wrong', groups: [fpga(wrong)] },
  { name: 'all', groups: [nic, vgpu, fpga(first)] },
];
