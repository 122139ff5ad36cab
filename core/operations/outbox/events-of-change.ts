import type { CyborgEvent } from '#core/contracts/events.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { Device } from '#core/domain/device/device.ts';
import { type ArqUuid, derivedUuid } from '#core/domain/ids.ts';
import type { DomainEvent } from '#core/domain/outbox/domain-events.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface EventMetadata {
  /** The stream's own id of the change, the same at each reading. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly stage: string;
}

/**
 * The events on the bus that tell of a domain event: one for each ARQ, since others know no binds.
 */
export function eventsOf(event: DomainEvent, metadata: EventMetadata): CyborgEvent[] {
  switch (event.kind) {
    case 'bound':
    case 'failed':
      return event.binding.arqUuids.map((arq) => arqEvent(event, arq, metadata));
    case 'released':
      return event.arqUuids.map((arq) => arqEvent(event, arq, metadata));
    case 'device-added':
      return [{ type: 'Device added', at: metadata.at, detail: ofDevice(event.device, metadata) }];
    case 'device-removed':
      return [
        { type: 'Device removed', at: metadata.at, detail: ofDevice(event.device, metadata) },
      ];
    case 'device-in-conflict': {
      const detail = { ...ofDevice(event.device, metadata), since: event.since };
      return [{ type: 'Device in conflict', at: metadata.at, detail }];
    }
    case 'quarantined': {
      const { uuid: handle_uuid, providerUuid: provider_uuid } = event.handle;
      const common = ofAll(handle_uuid, metadata);
      const detail = { ...common, handle_uuid, provider_uuid, reason: event.reason };
      return [{ type: 'Handle quarantined', at: metadata.at, detail }];
    }
  }
}

type ArqEvent = Extract<DomainEvent, { kind: 'bound' | 'failed' | 'released' }>;

function arqEvent(event: ArqEvent, arq: ArqUuid, metadata: EventMetadata): CyborgEvent {
  const { binding } = event;
  const { at } = metadata;
  const detail = ofArq(arq, binding, metadata);
  switch (event.kind) {
    case 'bound':
      return {
        type: 'ARQ bound',
        at,
        detail: { ...detail, how: event.how, took_ms: event.tookMs },
      };
    case 'failed': {
      const reason = binding.failure ?? '';
      return { type: 'ARQ failed', at, detail: { ...detail, cause: event.cause, reason } };
    }
    case 'released': {
      const was = binding.state as Exclude<InstanceBinding['state'], 'BindFailed'>;
      return { type: 'ARQ released', at, detail: { ...detail, was } };
    }
  }
}

function ofAll(of: string, { id, stage }: EventMetadata) {
  return { version: 1, id: derivedUuid('event', id, of), stage } as const;
}

function ofArq(arq: ArqUuid, binding: InstanceBinding, metadata: EventMetadata) {
  return {
    ...ofAll(arq, metadata),
    arq_uuid: arq,
    instance_uuid: binding.instanceUuid,
    project_id: binding.projectId,
    hostname: binding.hostname,
    bind_id: binding.bindId,
    ...present({ request_id: binding.requestId }),
  };
}

function ofDevice(device: Device, metadata: EventMetadata) {
  return {
    ...ofAll(device.uuid, metadata),
    device_uuid: device.uuid,
    hostname: device.hostname,
    address: device.address,
    type: device.type,
    vendor: device.vendor,
    product: device.product,
    driver: device.driver,
    provider_uuids: [...device.providers],
  };
}
