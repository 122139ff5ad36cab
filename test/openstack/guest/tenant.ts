// A tenant's server, and what its guest has printed.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hardwareHost } from '#test/openstack/hardware-node.ts';
import { act } from '#test/openstack/nodes.ts';
import { arqsOf, assertHas, build, putImage, show } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { type Arq, eventually } from '#test/support/suites/rest.ts';
import { bootImage } from './boot-image.ts';
import { sharedFolder } from './hypervisor.ts';

export const zeros = '.'.repeat(32);
/** A guest in a guest without KVM, on a busy machine. */
export const withinSeconds = 300;

export interface Tenant {
  readonly id: string;
  readonly arq: Arq;
  /** All that its guest has printed. */
  readonly lines: readonly string[];
  readonly note: string;
}

/** Builds a server with one device, and waits until its guest has used it. */
export async function bootTenant(stage: Stage, flavor: string, text: string): Promise<Tenant> {
  const built = await build(stage, flavor, { image: await putSector(stage, text) });
  assert.equal(built.status, 'ACTIVE', built.fault);
  const tenant = await tenantOf(stage, built.id);
  return { ...tenant, note: `ACTIVE after ${built.seconds.toFixed(1)} s, ${tenant.note}` };
}

/** Puts the image of a guest that writes this text to its device. */
export function putSector(stage: Stage, text: string): Promise<string> {
  return putImage(stage, text, bootImage(text), { hw_machine_type: 'q35' });
}

/** Waits until the guest of an ACTIVE server with one device has used it. */
export async function tenantOf(stage: Stage, id: string): Promise<Tenant> {
  const [arq] = await assertHas(stage, { id, ...(await show(stage, id)) }, 1);
  assert.ok(arq);
  const startedAt = performance.now();
  const lines = await printedBy(stage, id);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  return { id, arq, lines, note: `used after ${seconds} s: ${lines.slice(1, -1).join(', ')}` };
}

/** All lines of the server's console, when its guest has done its work. */
export async function printedBy({ cloud: { plan } }: Stage, id: string): Promise<string[]> {
  const file = join(sharedFolder(plan, hardwareHost), id, 'console.log');
  return eventually(
    async () => readFileSync(file, 'latin1').trim().split(/\r?\n/),
    (lines) => lines.includes('done') || lines.includes('the disk failed'),
    withinSeconds,
  );
}

/** Starts or reboots the server, which has the same device afterwards; returns what it prints. */
export async function actAndRead(stage: Stage, { id, arq }: Tenant, action: object) {
  assert.equal(await act(stage, id, action), 'ACTIVE');
  const [now] = await arqsOf(stage, id);
  assert.equal(now?.state, 'Bound');
  assert.equal(now.attach_handle_uuid, arq.attach_handle_uuid);
  return printedBy(stage, id);
}

export function found(text: string): string {
  return `found: ${padded(text)}`;
}

export function wrote(text: string): string {
  return `wrote: ${padded(text)}`;
}

export function looped(text: string): string {
  return `uart: ${padded(text)}`;
}

function padded(text: string): string {
  return text.padEnd(zeros.length, '-');
}
