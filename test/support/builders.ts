// Domain objects with defaults: a test names only what matters to it.

import type { JobEvent } from '#core/contracts/jobs/job-document.ts';
import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { BindTarget, StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { AttachHandle, Deployable, Device } from '#core/domain/device/device.ts';
import {
  type ArqUuid,
  type BindId,
  type DeployableUuid,
  type DeviceUuid,
  derivedUuid,
  type HandleUuid,
  type InstanceUuid,
  providerUuid,
} from '#core/domain/ids.ts';

/** A uuid that is easy to tell from others. */
export const numberedUuid = (prefix: string, number: number) =>
  `${prefix}-0000-4000-8000-${String(number).padStart(12, '0')}`;

export const instanceOf = (number: number) => numberedUuid('aaaaaaaa', number) as InstanceUuid;
export const bootIdOf = (number: number) => numberedUuid('bbbbbbbb', number);

const instances = { last: 0 };

/** The uuid of an instance that no test of the file has had. */
export function nextInstance(): InstanceUuid {
  instances.last += 1;
  return instanceOf(instances.last);
}

export const anInstanceUuid = instanceOf(1);
export const aProviderUuid = providerUuid('cmp1_FakeDevice');
const createdAt = '2026-07-01T01:02:03.000Z';

/** Nova, for a tenant. */
export function aCaller(given: Partial<Caller> = {}): Caller {
  return {
    requestId: 'req-test',
    userId: 'u',
    projectId: 'p',
    roles: ['member'],
    hasServiceToken: true,
    ...given,
  };
}

export function anArq(given: Partial<Arq> = {}): Arq {
  return {
    uuid: derivedUuid('arq', '1') as ArqUuid,
    state: 'Initial',
    deviceProfileName: 'fpga',
    groupId: 0,
    group: { 'resources:FPGA': '1' },
    projectId: 'project-1',
    createdAt,
    ...given,
  };
}

export function aDeployable(given: Partial<Deployable> = {}): Deployable {
  return {
    uuid: derivedUuid('deployable', '1') as DeployableUuid,
    providerUuid: aProviderUuid,
    deviceUuid: derivedUuid('device', '1') as DeviceUuid,
    hostname: 'cmp1',
    name: 'cmp1_FakeDevice',
    driver: 'fake_driver',
    deviceStatus: 'enabled',
    resourceClass: 'FPGA',
    numAccelerators: 2,
    traits: ['CUSTOM_FAKE_DEVICE', 'OWNER_CYBORG'],
    isGone: false,
    createdAt,
    ...given,
  };
}

export function aStoredHandle(
  given: Partial<AttachHandle> & { index?: number } = {},
): AttachHandle {
  const { index = 1, ...rest } = given;
  return {
    uuid: derivedUuid('handle', String(index)) as HandleUuid,
    providerUuid: aProviderUuid,
    type: 'TEST_PCI',
    info: { domain: '0000', bus: '0c', device: '0', function: String(index) },
    epoch: 0,
    isGone: false,
    ...rest,
  };
}

/** A provider with a number of free handles. */
export function aProvider(given: Partial<Deployable> = {}, handles = 2): StoredProvider {
  return {
    deployable: aDeployable(given),
    handles: Array.from({ length: handles }, (_, index) => aStoredHandle({ index: index + 1 })),
  };
}

export function aStoredDevice(given: Partial<Device> = {}): Device {
  return {
    uuid: derivedUuid('device', '1') as DeviceUuid,
    hostname: 'cmp1',
    address: '0000:0c:00.0',
    driver: 'fake_driver',
    type: 'FPGA',
    vendor: '0xABCD',
    product: '0xabcd',
    model: 'miss model info',
    status: 'enabled',
    digest: '0123456789abcdef',
    providers: [aProviderUuid],
    isGone: false,
    createdAt,
    ...given,
  };
}

export function aTarget(given: Partial<BindTarget> = {}): BindTarget {
  return {
    arqUuid: anArq().uuid,
    hostname: 'cmp1',
    providerUuid: aProviderUuid,
    instanceUuid: anInstanceUuid,
    ...given,
  };
}

/** The end of a host's job, as AWS IoT tells of it. */
export function aJobEnd(jobId: string, given: Partial<JobEvent> = {}): JobEvent {
  return {
    eventType: 'JOB_EXECUTION',
    jobId,
    operation: 'succeeded',
    thingArn: 'arn',
    timestamp: 1,
    ...given,
  };
}

export function aBinding(given: Partial<InstanceBinding> = {}): InstanceBinding {
  return {
    instanceUuid: anInstanceUuid,
    bindId: derivedUuid('bind', '1') as BindId,
    state: 'Bound',
    hostname: 'cmp1',
    projectId: 'project-1',
    arqUuids: [anArq().uuid],
    startedAt: createdAt,
    ...given,
  };
}
