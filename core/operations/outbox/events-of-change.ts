import type { CyborgEvent } from '../../contracts/events.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import type { Device } from '../../domain/device.ts';
import type { DomainEvent } from '../../domain/domain-events.ts';
import { type ArqUuid, derivedUuid } from '../../domain/ids.ts';

export interface Occasion {
  /** The same whenever the fact is told. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly stage: string;
}

/** The events by which others are told of a fact: of ARQs one each, since others do not know our binds. */
export function eventsOf(fact: DomainEvent, occasion: Occasion): CyborgEvent[] {
  switch (fact.kind) {
    case 'bound':
    case 'failed':
      return fact.binding.arqUuids.map((arq) => arqEvent(fact, arq, occasion));
    case 'released':
      return fact.arqUuids.map((arq) => arqEvent(fact, arq, occasion));
    case 'device-added':
      return [{ type: 'Device added', at: occasion.at, detail: ofDevice(fact.device, occasion) }];
    case 'device-removed':
      return [{ type: 'Device removed', at: occasion.at, detail: ofDevice(fact.device, occasion) }];
    case 'device-in-conflict': {
      const detail = { ...ofDevice(fact.device, occasion), since: fact.since };
      return [{ type: 'Device set aside', at: occasion.at, detail }];
    }
    case 'quarantined': {
      const { uuid: handle_uuid, providerUuid: provider_uuid } = fact.handle;
      const common = ofAll(handle_uuid, occasion);
      const detail = { ...common, handle_uuid, provider_uuid, reason: fact.reason };
      return [{ type: 'Handle quarantined', at: occasion.at, detail }];
    }
  }
}

type ArqEvent = Extract<DomainEvent, { kind: 'bound' | 'failed' | 'released' }>;

function arqEvent(fact: ArqEvent, arq: ArqUuid, occasion: Occasion): CyborgEvent {
  const { binding } = fact;
  const { at } = occasion;
  const detail = ofArq(arq, binding, occasion);
  switch (fact.kind) {
    case 'bound':
      return { type: 'ARQ bound', at, detail: { ...detail, how: fact.how, took_ms: fact.tookMs } };
    case 'failed': {
      const reason = binding.failure ?? '';
      return { type: 'ARQ failed', at, detail: { ...detail, cause: fact.cause, reason } };
    }
    case 'released': {
      const was = binding.state as Exclude<InstanceBinding['state'], 'BindFailed'>;
      return { type: 'ARQ released', at, detail: { ...detail, was } };
    }
  }
}

function ofAll(of: string, { id, stage }: Occasion) {
  return { version: 1, id: derivedUuid('event', id, of), stage } as const;
}

function ofArq(arq: ArqUuid, binding: InstanceBinding, occasion: Occasion) {
  return {
    ...ofAll(arq, occasion),
    arq_uuid: arq,
    instance_uuid: binding.instanceUuid,
    project_id: binding.projectId,
    hostname: binding.hostname,
    bind_id: binding.bindId,
    ...(binding.requestId && { request_id: binding.requestId }),
  };
}

function ofDevice(device: Device, occasion: Occasion) {
  return {
    ...ofAll(device.uuid, occasion),
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
