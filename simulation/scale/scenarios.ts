import { live } from './cloud.ts';
import type { Load, Outcome } from './load.ts';
import { at, seconds, whole } from './print.ts';

/** Ten minutes of launches; each server exists for five minutes. */
const launches = { seconds: 600, lifeSeconds: 300 };
const twentyTimes = { createJob: 200, cancelJob: 200 };

export const binds: Readonly<Record<string, Load>> = {
  '50 vGPU of pools a second': { ...launches, pooledPerSecond: 50 },
  '200 vGPU of pools, 20 consumers of `host-jobs`': {
    ...launches,
    pooledPerSecond: 200,
    hostJobsConcurrency: 20,
  },
  '4 vGPU a second': { ...launches, vgpusPerSecond: 4 },
  '10 vGPU a second': { ...launches, vgpusPerSecond: 10 },
  '20 vGPU a second': { ...launches, vgpusPerSecond: 20 },
  '50 vGPU a second': { ...launches, vgpusPerSecond: 50 },
  '50 vGPU a second, 20 consumers of `host-jobs`': {
    ...launches,
    vgpusPerSecond: 50,
    hostJobsConcurrency: 20,
  },
  '50 vGPU a second on 500 GPUs': { ...launches, vgpusPerSecond: 50, gpus: 500 },
  '50 vGPU a second on 500 GPUs, 20 consumers of `host-jobs`': {
    ...launches,
    vgpusPerSecond: 50,
    gpus: 500,
    hostJobsConcurrency: 20,
  },
  '50 vGPU, `CreateJob` and `CancelJob` at 200/s': {
    ...launches,
    vgpusPerSecond: 50,
    quotas: twentyTimes,
  },
  '50 vGPU, both quotas at 200/s, 20 consumers of `host-jobs`': {
    ...launches,
    vgpusPerSecond: 50,
    quotas: twentyTimes,
    hostJobsConcurrency: 20,
  },
  '50 PCI, while 10,000 hosts boot': {
    ...launches,
    pciPerSecond: 50,
    bootingHosts: 10_000,
    instancesPerHost: 10,
  },
  '4 vGPU, while 10,000 hosts boot': {
    ...launches,
    vgpusPerSecond: 4,
    bootingHosts: 10_000,
    instancesPerHost: 10,
  },
};

export const boots: Readonly<Record<string, Load>> = {
  'nothing in use': { seconds: 1, bootingHosts: 10_000 },
  '10 vGPUs each': { seconds: 1, bootingHosts: 10_000, instancesPerHost: 10 },
  '100 vGPUs each': { seconds: 1, bootingHosts: 10_000, instancesPerHost: 100 },
  '10 each, `CreateJob` at 100/s, subscriptions at 5,000/s': {
    seconds: 1,
    bootingHosts: 10_000,
    instancesPerHost: 10,
    quotas: { createJob: 100, subscriptions: 5000 },
  },
};

export const bindHead = [
  'binds',
  'asked',
  'bound',
  'failed',
  'half within',
  '99 % within',
  'first within',
  'refused `CreateJob`s',
  'deepest `host-jobs`',
  '`nova-events`',
  'quarantined',
];

export function bindRow(name: string, load: Load): string[] {
  const { pci, vgpu, counts, deepest } = live(load);
  const latencies = (load.vgpusPerSecond ? vgpu : pci).toSorted((a, b) => a - b);
  return [
    name,
    whole(counts.asked),
    whole(latencies.length),
    whole(counts.failed),
    seconds(at(latencies, 0.5)),
    seconds(at(latencies, 0.99)),
    seconds(latencies[0]),
    whole(counts.createJobRefused),
    whole(deepest['host-jobs'] ?? 0),
    whole(deepest['nova-events'] ?? 0),
    whole(counts.quarantined),
  ];
}

export const bootHead = [
  '10,000 hosts',
  'half have reported',
  'all',
  'refused connects',
  'half have their job',
  'all',
  'all bound again',
  'deepest `inventory-reports`',
  '`host-jobs`',
  '`nova-events`',
];

export function bootRow(name: string, load: Load): string[] {
  const outcome: Outcome = live(load);
  const { reported, jobMade, boundAgain, counts, deepest } = outcome;
  return [
    name,
    seconds(at(reported, 0.5)),
    seconds(reported.at(-1)),
    whole(counts.connectsRefused),
    seconds(at(jobMade, 0.5)),
    seconds(jobMade.at(-1)),
    seconds(boundAgain.at(-1)),
    whole(deepest['inventory-reports'] ?? 0),
    whole(deepest['host-jobs'] ?? 0),
    whole(deepest['nova-events'] ?? 0),
  ];
}
