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

/** The bus events of a domain event: one for each ARQ, since consumers know no binds. */
export function toEvents(event: DomainEvent, metadata: EventMetadata): CyborgEvent[] {
  switch (event.kind) {
    case 'bound':
    case 'failed':
      return event.binding.arqUuids.map((arq) => arqEvent(event, arq, metadata));
    case 'released':
      return event.arqUuids.map((arq) => arqEvent(event, arq, metadata));
    case 'device-added':
      return [
        { type: 'Device added', at: metadata.at, detail: deviceDetail(event.device, metadata) },
      ];
    case 'device-removed':
      return [
        { type: 'Device removed', at: metadata.at, detail: deviceDetail(event.device, metadata) },
      ];
    case 'device-in-conflict': {
      const detail = { ...deviceDetail(event.device, metadata), since: event.since };
      return [{ type: 'Device in conflict', at: metadata.at, detail }];
    }
    case 'device-not-attached': {
      const { kind, unit, instanceUuid: instance_uuid, since } = event.fault;
      const { projectId: project_id, heldBy: held_by } = event.fault;
      const detail = {
        ...deviceDetail(event.device, metadata),
        how: kind,
        unit,
        instance_uuid,
        since,
        ...present({ project_id, held_by }),
        id: derivedUuid('event', metadata.id, `${event.device.uuid} ${unit} ${instance_uuid}`),
      };
      return [{ type: 'Device not attached', at: metadata.at, detail }];
    }
    case 'device-health': {
      const { state = 'healthy', reason, since } = event.device.health ?? {};
      const detail = {
        ...deviceDetail(event.device, metadata),
        id: derivedUuid('event', metadata.id, `${event.device.uuid} health`),
        state,
        ...present({ reason, since }),
      };
      return [{ type: 'Device health changed', at: metadata.at, detail }];
    }
    case 'quarantined': {
      const { uuid: handle_uuid, providerUuid: provider_uuid } = event.handle;
      const common = commonDetail(handle_uuid, metadata);
      const detail = { ...common, handle_uuid, provider_uuid, reason: event.reason };
      return [{ type: 'Handle quarantined', at: metadata.at, detail }];
    }
  }
}

type ArqEvent = Extract<DomainEvent, { kind: 'bound' | 'failed' | 'released' }>;

function arqEvent(event: ArqEvent, arq: ArqUuid, metadata: EventMetadata): CyborgEvent {
  const { binding } = event;
  const { at } = metadata;
  const detail = arqDetail(arq, binding, metadata);
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

function commonDetail(subject: string, { id, stage }: EventMetadata) {
  return { version: 1, id: derivedUuid('event', id, subject), stage } as const;
}

function arqDetail(arq: ArqUuid, binding: InstanceBinding, metadata: EventMetadata) {
  return {
    ...commonDetail(arq, metadata),
    arq_uuid: arq,
    instance_uuid: binding.instanceUuid,
    project_id: binding.projectId,
    hostname: binding.hostname,
    bind_id: binding.bindId,
    ...present({ request_id: binding.requestId }),
  };
}

function deviceDetail(device: Device, metadata: EventMetadata) {
  return {
    ...commonDetail(device.uuid, metadata),
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
