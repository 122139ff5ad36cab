// Fields of the samples in Cyborg's API reference, and the types of their values.

import * as z from 'zod';

export const date = z.iso.datetime({ offset: true });
export const links = z
  .tuple([z.object({ href: z.url(), rel: z.literal('self') })])
  .rest(z.object());
export const dates = { created_at: date, updated_at: date.nullable(), links };
export const profile = z.object({
  name: z.string(),
  uuid: z.uuid(),
  description: z.string().nullable(),
  groups: z.array(z.record(z.string(), z.string())).min(1),
  ...dates,
});
export const arq = z.object({
  uuid: z.uuid(),
  state: z.string(),
  device_profile_name: z.string(),
  ...dates,
  device_profile_group_id: z.number(),
  hostname: z.string().nullable(),
  device_rp_uuid: z.string().nullable(),
  instance_uuid: z.string().nullable(),
  attach_handle_type: z.string(),
  attach_handle_info: z.record(z.string(), z.string()),
});
export const shownArq = arq.extend({
  project_id: z.string().nullable(),
  attach_handle_uuid: z.string().nullable(),
});
export const device = z.object({
  uuid: z.uuid(),
  type: z.string(),
  vendor: z.string(),
  model: z.string(),
  ...dates,
  std_board_info: z.string().nullable(),
  vendor_board_info: z.string().nullable(),
  hostname: z.string(),
});
export const deployable = z.object({
  uuid: z.uuid(),
  parent_id: z.number().nullable(),
  root_id: z.number().nullable(),
  name: z.string(),
  num_accelerators: z.number(),
  device_id: z.number(),
  ...dates,
  attributes_list: z.string(),
  rp_uuid: z.uuid(),
  driver_name: z.string(),
  bitstream_id: z.string().nullable(),
});
export const attribute = z.object({
  uuid: z.uuid(),
  deployable_id: z.number(),
  key: z.string(),
  value: z.string(),
  ...dates,
});
export const version = z.object({
  id: z.literal('v2.0'),
  links: z.array(z.object()),
  status: z.literal('CURRENT'),
  min_version: z.literal('2.0'),
  max_version: z.literal('2.3'),
});
export const refusal = z.object({ error_message: z.string().min(1) });
export const profileList = z.object({ device_profiles: z.array(profile).min(1) });
export const arqList = z.object({ arqs: z.array(shownArq).min(1) });
export const deviceList = z.object({ devices: z.array(device).min(1) });
export const deployableList = z.object({ deployables: z.array(deployable).min(1) });
export const attributeList = z.object({ attributes: z.array(attribute).min(1) });
