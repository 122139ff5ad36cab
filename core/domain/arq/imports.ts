// What an import writes for one device and for one server of another accelerator service.

import type { Attribute } from '#core/domain/device/attribute.ts';
import type { AttachHandle, Deployable, Device } from '#core/domain/device/device.ts';
import {
  type ArqUuid,
  type BindId,
  derivedUuid,
  type InstanceUuid,
  type ProviderUuid,
} from '#core/domain/ids.ts';
import type { Group } from '#core/domain/profile/device-profile.ts';
import type { Attachment } from './arq.ts';

/** The actor of an import in the history. */
export const importer = 'import';

/**
 * How long the host may clean an imported handle until its agent has declared a time. No bind
 * waits that long.
 */
export const importedCleanSeconds = 3600;

export interface ImportedDevice {
  readonly device: Device;
  readonly deployables: readonly Deployable[];
  /** All withheld: a server's claim, or Placement's allocations, say who holds them. */
  readonly handles: readonly AttachHandle[];
  readonly attributes: readonly Attribute[];
  /** Why the device is in maintenance, where it is. */
  readonly maintenance?: string;
}

export interface ImportedArq {
  readonly uuid: ArqUuid;
  readonly deviceProfileName: string;
  readonly groupId: number;
  readonly group: Group;
  readonly createdAt: string;
  readonly providerUuid: ProviderUuid;
  readonly attachment: Attachment;
}

export interface ImportedServer {
  readonly instanceUuid: InstanceUuid;
  readonly hostname: string;
  readonly projectId: string;
  readonly arqs: readonly ImportedArq[];
}

/** The same for each attempt, so that a repeated import finds its own binding. */
export function importedBindId(instance: string): BindId {
  return derivedUuid('import', instance) as BindId;
}
