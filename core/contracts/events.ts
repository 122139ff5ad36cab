// The events that others may follow, on the stage's own bus of EventBridge. docs/events.md shows them.
// The same event may come twice, then with the same `id`; events come in no particular order.

import * as z from 'zod';
import { bindFailureCauses } from '../domain/arq.ts';
import { deviceTypes } from '../domain/device.ts';
import { bindKinds } from '../domain/domain-events.ts';

export const eventSource = 'openstack.cyborg';

/** A bus of its own: whoever may write to it or read from it is decided for this stage alone. */
export function eventBusName(stage: string): string {
  return `${stage}-cyborg`;
}

const uuid = z.guid();

/** A field may be added to a version, none is taken away or given another meaning. */
const common = {
  version: z.literal(1),
  id: uuid.describe('the same for the same event, however often it comes'),
  stage: z.string(),
};

const ofArq = {
  ...common,
  arq_uuid: uuid,
  instance_uuid: uuid,
  project_id: z.string().describe('of the instance'),
  hostname: z.string(),
  bind_id: uuid.describe('drawn anew for each bind'),
  request_id: z.string().optional().describe('of the request that bound it; as in the logs'),
};

const ofDevice = {
  ...common,
  device_uuid: uuid,
  hostname: z.string(),
  address: z.string().describe('PCI address of the physical function'),
  type: z.enum(deviceTypes),
  vendor: z.string(),
  product: z.string(),
  driver: z.string(),
  provider_uuids: z.array(uuid).describe('its resource providers in Placement'),
};

/** Detail-type → what is in the detail. */
export const eventDetails = {
  'ARQ bound': z
    .object({
      ...ofArq,
      how: z.enum(bindKinds).describe("what it waited for: nothing, its host, or its host's boot"),
      took_ms: z.number().int().describe('from the claim, or from the boot, to Bound'),
    })
    .describe(
      'An accelerator is attached to an instance, at first or again after its host booted.',
    ),
  'ARQ failed': z
    .object({
      ...ofArq,
      cause: z.enum([...bindFailureCauses, 'unknown']),
      reason: z.string().describe('a sentence for people'),
    })
    .describe('A bind failed; what it had claimed is given back.'),
  'ARQ released': z
    .object({
      ...ofArq,
      was: z.enum(['BindStarted', 'Bound', 'provisioning']).describe('its state before'),
    })
    .describe('The ARQ was deleted or unbound. Its host may still have to clean up the device.'),
  'Device added': z.object(ofDevice).describe('A host reports a device that it did not have.'),
  'Device removed': z
    .object(ofDevice)
    .describe('A host no longer reports a device. What is bound of it stays bound.'),
  'Device set aside': z
    .object({ ...ofDevice, since: z.iso.datetime().describe('when the conflict began') })
    .describe(
      'Two agents report as its host. Nothing new is bound of it until an operator has ended that.',
    ),
  'Handle quarantined': z
    .object({
      ...common,
      handle_uuid: uuid,
      provider_uuid: uuid,
      reason: z.string().describe('a sentence for people'),
    })
    .describe('A device is not handed out: what its last holder left may still be on it.'),
} as const;

export type EventType = keyof typeof eventDetails;

export type CyborgEvent = {
  [Type in EventType]: {
    readonly type: Type;
    /** When it was committed; milliseconds since 1970, to the second. */
    readonly at: number;
    readonly detail: z.infer<(typeof eventDetails)[Type]>;
  };
}[EventType];
