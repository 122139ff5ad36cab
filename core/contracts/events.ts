// The domain events on the stage's own EventBridge bus. docs/events.md shows them. An event can
// arrive twice, with the same `id`; events arrive in no particular order.

import * as z from 'zod';
import { bindKinds } from '#core/domain/outbox/domain-events.ts';
import {
  attachmentFaults,
  bindFailureCauses,
  healthStates,
} from '#core/shapes/vocabulary/words.ts';

export const eventSource = 'openstack.cyborg';

/** A bus per stage, so that access to it is granted per stage. */
export function eventBusName(stage: string): string {
  return `${stage}-cyborg`;
}

const uuid = z.guid();

/** New versions may add fields; no field is removed or changes its meaning. */
const common = {
  version: z.literal(1),
  id: uuid.describe('the same for each delivery of one event'),
  stage: z.string(),
};

const ofArq = {
  ...common,
  arq_uuid: uuid,
  instance_uuid: uuid,
  project_id: z.string().describe('project of the instance'),
  hostname: z.string(),
  bind_id: uuid.describe('unique for each bind'),
  request_id: z.string().optional().describe('the request of the bind, as in the logs'),
};

const ofDevice = {
  ...common,
  device_uuid: uuid,
  hostname: z.string(),
  address: z.string().describe('PCI address of the physical function'),
  type: z.string(),
  vendor: z.string(),
  product: z.string(),
  driver: z.string(),
  provider_uuids: z.array(uuid).describe('its resource providers in Placement'),
};

/** Detail-type → schema of the detail. */
export const eventDetails = {
  'ARQ bound': z
    .object({
      ...ofArq,
      how: z.enum(bindKinds).describe('what the bind waited for: nothing, the host, or a boot'),
      took_ms: z.number().int().describe('from the claim or the boot to Bound'),
    })
    .describe('An accelerator is attached to an instance, by a bind or after a boot of its host.'),
  'ARQ failed': z
    .object({
      ...ofArq,
      cause: z.enum([...bindFailureCauses, 'unknown']),
      reason: z.string().describe('human-readable'),
    })
    .describe('A bind failed; its claims are released.'),
  'ARQ released': z
    .object({
      ...ofArq,
      was: z.enum(['BindStarted', 'Bound', 'provisioning']).describe('the previous state'),
    })
    .describe('The ARQ was deleted or unbound. Its host may still have to clean up the device.'),
  'Device added': z.object(ofDevice).describe('A host reports a new device.'),
  'Device removed': z
    .object(ofDevice)
    .describe('A host no longer reports a device. Existing bindings stay.'),
  'Device in conflict': z
    .object({ ...ofDevice, since: z.iso.datetime().describe('when the conflict began') })
    .describe(
      'Two agents report as its host. The device takes no bind until an operator ends the conflict.',
    ),
  'Device not attached': z
    .object({
      ...ofDevice,
      how: z.enum(attachmentFaults),
      unit: z.string().describe('address of the PCI function, or uuid of the mdev'),
      instance_uuid: uuid.describe('the server that it is bound to, else the one that has it'),
      project_id: z.string().optional().describe('of the server that it is bound to'),
      held_by: z.string().optional().describe('another server that has it'),
      since: z.iso.datetime().describe("by the host's clock"),
    })
    .describe(
      'A running server lacks the device that is bound to it, or has one that is not bound to it.',
    ),
  'Device health changed': z
    .object({
      ...ofDevice,
      state: z.enum(healthStates),
      reason: z.string().optional().describe('a clause that completes "The device ..."'),
      since: z.iso.datetime().optional(),
    })
    .describe(
      'A fault of the device began, changed its degree, or ended. Servers keep an unhealthy device.',
    ),
  'Handle quarantined': z
    .object({
      ...common,
      handle_uuid: uuid,
      provider_uuid: uuid,
      reason: z.string().describe('human-readable'),
    })
    .describe(
      'An attach handle cannot be claimed: its device may still hold data of the previous holder.',
    ),
} as const;

export type EventType = keyof typeof eventDetails;

export type CyborgEvent = {
  [Type in EventType]: {
    readonly type: Type;
    /** Time of the commit; milliseconds since 1970, to the second. */
    readonly at: number;
    readonly detail: z.infer<(typeof eventDetails)[Type]>;
  };
}[EventType];
