// What a first server needs, and `npm start` has ready: a device profile, a flavor that asks for
// it, and an image.

import { send } from '#local/http-call.ts';
import { type Layout, urlOf } from '#local/process/layout.ts';

export const firstFlavor = 'accel';
export const firstImage = 'small';
const imageId = '5a11a11e-0000-4000-8000-000000000001';

/** Makes what is missing. @throws Error where a fake or the API refuses it */
export async function prepareFirstServer(layout: Layout): Promise<void> {
  const profiles = `${urlOf(layout, 'api')}/accelerator/v2/device_profiles`;
  const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];
  await make('POST', profiles, [{ name: 'fpga', groups }]);

  const flavors = `${urlOf(layout, 'nova')}/v2.1/flavors`;
  const flavor = { id: firstFlavor, name: firstFlavor, vcpus: 1, ram: 64, disk: 1 };
  const extra_specs = { 'accel:device_profile': 'fpga' };
  await make('POST', flavors, { flavor });
  await make('POST', `${flavors}/${firstFlavor}/os-extra_specs`, { extra_specs });

  const images = `${urlOf(layout, 'glance')}/v2/images`;
  const formats = { disk_format: 'raw', container_format: 'bare' };
  await make('POST', images, { id: imageId, name: firstImage, visibility: 'public', ...formats });
  await make('PUT', `${images}/${imageId}/file`, 'No guest runs here.');
}

async function make(method: string, url: string, body: unknown): Promise<void> {
  const headers = { 'X-Auth-Token': 'admin-token' };
  const { status, text } = await send({ method, url, headers, body });
  // It is there since an earlier start.
  const isThere = status === 409;
  if (status >= 300 && !isThere) throw new Error(`${method} ${url} answered ${status}: ${text}`);
}
