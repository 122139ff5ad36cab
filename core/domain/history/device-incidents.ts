// Devices that an operator should look at, derived from stored rows. Pure.

import type { CardPlace } from '#core/domain/device/card-cleaning.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import {
  type AttachmentFault,
  describeAttachment,
  isHeld,
} from '#core/domain/device/device-attachments.ts';
import {
  type DeviceHealth,
  isUnhealthy,
  programOfLost,
} from '#core/domain/device/device-health.ts';
import { modelOf } from '#core/domain/device/firmware/component-image.ts';
import {
  type Difference,
  type FirmwareBaseline,
  findDifferences,
} from '#core/domain/device/firmware/firmware-baselines.ts';
import type { HandleClaim } from '#core/domain/device/handle-claim.ts';
import { isUncleanImport } from '#core/domain/device/handle-state.ts';
import type { DeviceUuid, InstanceUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import { devicesNamed, type Incident, rebootStep } from './incidents.ts';

/**
 * One for all unhealthy devices of the host with the same reason, as of the first one: what they
 * share, such as a switch, is as a rule the cause.
 *
 * @returns undefined for a device that is healthy or gone, or that the incident of another names
 */
export function healthIncident(
  device: Device,
  ofHost: readonly Device[] = [device],
): Incident | undefined {
  const { uuid, hostname, health, isGone, cardCleaning } = device;
  if (isGone) return lostInProgram(device);
  if (!health || !isUnhealthy(device)) return undefined;
  const alike = ofHost.filter(
    (each) => !each.isGone && isUnhealthy(each) && each.health?.reason === health.reason,
  );
  if (alike.some((each) => each.uuid < uuid)) return undefined;
  return {
    kind: 'unhealthy-device',
    since: health.since,
    hostname,
    deviceUuid: uuid,
    reason: unhealthyText(device, alike, health.reason),
    nextStep: cardCleaning?.withheldSince
      ? "The host cleans the card by itself once no server holds it elsewhere, and the agent's next report offers it. If its driver cannot clean it, clean it by hand, and release the handles at its earlier place by force as cleaned."
      : repairStep(hostname, health),
    action: 'rediscover',
  };
}

function repairStep(hostname: string, { nextStep, needsReboot }: DeviceHealth): string {
  const repair =
    nextStep ??
    'Repair or replace the device; it is offered again once its driver finds it healthy for a while.';
  return needsReboot ? `${repair} To reboot the host: ${rebootStep(hostname)}` : repair;
}

function lostInProgram(device: Device): Incident | undefined {
  const { uuid, hostname, address } = device;
  const { component, since, reason = '' } = programOfLost(device) ?? {};
  if (since === undefined) return undefined;
  return {
    kind: 'unhealthy-device',
    since,
    hostname,
    deviceUuid: uuid,
    reason: `The device at ${address} is gone from its host, and its program of ${component} failed: ${sentenceOf(reason)}`,
    nextStep: `Look at the card: an image that is written in part can leave it without function. Once it is back, it is offered after some minutes without a fault. If it is taken out for good: cyborg-ops devices enable ${uuid}`,
    action: 'rediscover',
  };
}

/** The words of a host may end with a full stop. */
function sentenceOf(words: string): string {
  return `${words.replace(/\.+$/, '')}.`;
}

function unhealthyText({ address }: Device, alike: readonly Device[], reason: string): string {
  if (alike.length < 2) return `The device at ${address} ${sentenceOf(reason)}`;
  const addresses = alike.map((each) => each.address).sort();
  const named = addresses.slice(0, devicesNamed);
  const more = alike.length - named.length;
  return `Each of ${alike.length} devices ${reason}: those at ${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}. Look first at what they share, such as a switch or the power.`;
}

/** The other owner may give the device to a server, too: no new server gets it from us. */
export function offeredTwiceIncident(device: Device): Incident | undefined {
  const { uuid, hostname, address, driver, isGone, offeredTwice } = device;
  if (isGone || !offeredTwice) return undefined;
  const { name, by, since } = offeredTwice;
  return {
    kind: 'offered-twice',
    since,
    hostname,
    deviceUuid: uuid,
    reason: `The device at ${address} is offered by this service, by driver ${driver} of its agent, and by ${name}, by ${by}.`,
    nextStep: `Take the device out of the settings of ${name}, and restart its service on the host; or take it out of the agent's settings. Until then this service reserves the device in Placement, and refuses its binds.`,
    action: 'reconcile',
  };
}

/**
 * One for the device: its units of all servers.
 *
 * @param handles of the device: a server that has given a lost unit back lacks nothing
 */
export function attachmentIncident(
  device: Device,
  handles: readonly AttachHandle[],
): Incident | undefined {
  const { uuid, hostname, address, attachmentFaults = [] } = device;
  const holders = handles.flatMap(({ claim }) => claim ?? []);
  const faults = attachmentFaults.filter(
    (fault) => fault.kind !== 'gone' || isHeld(fault, handles),
  );
  const [first] = faults;
  if (!first) return undefined;
  const reasons = faults
    .slice(0, devicesNamed)
    .map((each) => `The device at ${address} ${describeAttachment(device, each)}.`);
  const more = faults.length - reasons.length;
  return {
    kind: 'device-not-attached',
    since: first.since,
    hostname,
    deviceUuid: uuid,
    instanceUuid: first.instanceUuid,
    ...projectOf(holders, first.instanceUuid),
    reason: [...reasons, ...(more > 0 ? [`${more} more.`] : [])].join(' '),
    nextStep: attachmentStep(first),
    action: 'rediscover',
  };
}

/** The incident of a device, with the servers that have the device. */
export function withHolders(
  incident: Incident | undefined,
  holders: readonly HandleClaim[],
): Incident | undefined {
  const [first] = holders;
  if (!incident || !first) return incident;
  const servers = [...new Set(holders.map(({ instanceUuid }) => instanceUuid))];
  const named = servers.slice(0, devicesNamed).join(', ');
  const more = servers.length > devicesNamed ? `, and ${servers.length - devicesNamed} more` : '';
  return {
    ...incident,
    instanceUuid: first.instanceUuid,
    ...projectOf(holders, first.instanceUuid),
    reason: `${incident.reason} ${servers.length === 1 ? 'Server' : 'Servers'} ${named}${more} ${servers.length === 1 ? 'has' : 'have'} it.`,
  };
}

function projectOf(
  holders: readonly HandleClaim[],
  instanceUuid: InstanceUuid,
): Pick<Incident, 'projectId'> {
  const holder = holders.find((each) => each.instanceUuid === instanceUuid);
  return present({ projectId: holder?.facts?.projectId });
}

function attachmentStep({ kind, instanceUuid, heldBy }: AttachmentFault): string {
  const reboot = `openstack server reboot --hard ${instanceUuid}`;
  switch (kind) {
    case 'gone':
      return `Look on the host for its cause: lspci, and the kernel log. Once the host reports the device again, the incident ends; then: ${reboot}. If it does not return, shelve and unshelve the server, which gives it another device, or delete it.`;
    case 'not-attached':
      return `Attach it again: ${reboot}. The incident ends with the next report of the agent.`;
    case 'not-bound':
      return `Do not release the device by force. If Nova has the server elsewhere or no longer, end it on the host: virsh destroy ${instanceUuid}. Else delete it in Nova.`;
    case 'attached-elsewhere':
      return `End the server that has it, on the host: virsh destroy ${heldBy}. Then: ${reboot}`;
  }
}

/**
 * At the earlier place of a card that its new host must not offer.
 *
 * @param uuidAt the uuid of the device at a place
 */
export function movedCardIncident(
  device: Device,
  uuidAt: (place: CardPlace) => DeviceUuid,
): Incident | undefined {
  const { hostname, address, isGone, cardCleaning = {} } = device;
  const { withheldSince, heldAt } = cardCleaning;
  const isHere = heldAt?.hostname === hostname && heldAt.address === address;
  if (isGone || !withheldSince || !heldAt || isHere) return undefined;
  return {
    kind: 'moved-card',
    since: withheldSince,
    hostname: heldAt.hostname,
    deviceUuid: uuidAt(heldAt),
    reason: `The card of the device at ${heldAt.address} is at ${address} of host ${hostname} now, and attach handles here are held or not clean: the card is not offered there.`,
    nextStep: `Evacuate or delete the servers that hold the card here; host ${hostname} then cleans it. If you have cleaned it by hand, release the handles here by force as cleaned.`,
    action: 'force-release',
  };
}

/** One for the host: a new baseline makes each device of its model differ. */
export function firmwareIncident(
  hostname: string,
  devices: readonly Device[],
  baselines: readonly FirmwareBaseline[],
): Incident | undefined {
  const differing = devices.flatMap((device) => {
    const differences = findDifferences(device, baselines);
    return differences.length > 0 ? [{ device, differences }] : [];
  });
  const [first] = differing;
  if (!first) return undefined;
  const named = differing.slice(0, devicesNamed).map(({ device, differences }) => {
    const parts = differences.map(
      ({ component, runs, baseline }) => `${component} ${runs}, not ${baseline}`,
    );
    return `The device at ${device.address} (${modelOf(device)}) runs ${parts.join('; ')}.`;
  });
  const more = differing.length - named.length;
  const [{ component }] = first.differences as [Difference];
  return {
    kind: 'firmware-differs',
    hostname,
    ...(differing.length === 1 && { deviceUuid: first.device.uuid }),
    reason: [...named, ...(more > 0 ? [`${more} more.`] : [])].join(' '),
    nextStep: `Program the devices: cyborg-ops firmware roll ${modelOf(first.device)} ${component} --image IMAGE --at-once 1 --drain. If the version is right, set it as the baseline.`,
  };
}

/** Undefined for a device none of whose components awaits a power cycle. */
export function powerCycleIncident({
  uuid,
  hostname,
  address,
  isGone,
  programs = [],
}: Device): Incident | undefined {
  const note = programs.find(({ state }) => state === 'awaiting-power-cycle');
  if (isGone || !note) return undefined;
  const { component, version, image, by, at, since = at } = note;
  return {
    kind: 'awaits-power-cycle',
    since,
    hostname,
    deviceUuid: uuid,
    reason: `The device at ${address} is disabled until a power cycle, after which ${component} runs version ${version} of image ${image}. User ${by} requested it at ${at}.`,
    nextStep: `Drain the host, move its servers, and switch its power off and on; a reboot may not be enough. Or give the program up: the device can then be enabled, and ${component} runs the new version after any later power cycle.`,
    action: 'force-release',
  };
}

/** A device that an import has withheld, and that its host has not begun to clean. */
export function uncleanImportIncident(
  { hostname, uuid, createdAt: since, isGone }: Device,
  handles: readonly AttachHandle[],
): Incident | undefined {
  const unclean = handles.filter(isUncleanImport);
  const [first] = unclean;
  if (isGone || !first) return undefined;
  return {
    kind: 'quarantine',
    since,
    hostname,
    deviceUuid: uuid,
    reason: `${unclean.length} attach handles, imported: ${first.quarantine}`,
    nextStep:
      'The host is asked to clean the device when its agent first reports it, if the driver cleans after each holder. If not, clean it by hand, and release it by force as cleaned.',
    action: 'force-release',
  };
}
