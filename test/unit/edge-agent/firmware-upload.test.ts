// Uploads through the kernel's class `firmware`, with its states in memory; the suite test:kernel
// has the kernel's own.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import { uploadFirmware } from '#agent/hardware/firmware-upload.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { openSysfs } from '#agent/sysfs/root.ts';

const node = 'class/firmware/bmc0';
let root: string;
/** The node; `left` counts down while the card is at work. */
let card: { status: string; isLoading: boolean; left: number; error: string; flash: string };
let calls: string[];
let dd = { exitCode: 0, stderr: '' };
let failsWith: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'firmware-'));
  mkdirSync(join(root, node), { recursive: true });
  writeFileSync(join(root, node, 'data'), '');
  card = { status: 'idle', isLoading: false, left: 0, error: '', flash: 'old' };
  calls = [];
  dd = { exitCode: 0, stderr: '' };
  failsWith = '';
});
afterEach(() => rmSync(root, { recursive: true }));

const hardware = {
  readText: async (_device: string, path: string) => {
    const name = path.slice(node.length + 1);
    if (name === 'loading') return card.isLoading ? '1' : '0';
    if (name === 'error') return card.error;
    if (name === 'remaining_size') return String(card.left);
    if (card.status === 'transferring') {
      card.left = Math.max(0, card.left - 50);
      if (card.left === 0) finish();
    }
    return card.status;
  },
  writeText: async (_device: string, path: string, text: string) => {
    const name = path.slice(node.length + 1);
    calls.push(`${name} ${text}`);
    if (name === 'cancel') card.status = 'idle';
    if (name !== 'loading') return;
    card.isLoading = text === '1';
    card.status = text === '1' ? 'receiving' : 'idle';
    if (text === '0') {
      card.status = 'transferring';
      card.left = 100;
      card.error = '';
    }
  },
  exec: async (_device: string, tool: string, args: readonly string[]) => {
    calls.push([tool, ...args.slice(1)].join(' ').replace(root, ''));
    return { ...dd, stdout: '' };
  },
} as unknown as Hardware;

function finish(): void {
  card.status = 'idle';
  card.error = failsWith;
  if (failsWith === '') card.flash = 'new';
}

async function upload(): Promise<number[]> {
  const percents: number[] = [];
  const clock = { ...systemClock, sleep: async () => {} };
  const image = { device: 'card', node, imagePath: '/image', bytes: 100 };
  await uploadFirmware({ sysfs: openSysfs(root), hardware, clock }, image, (percent) => {
    percents.push(percent);
  });
  return percents;
}

it('writes the image, and waits for the card with its progress', async () => {
  expect(await upload()).toEqual([0, 50, 100]);
  expect(calls).toEqual(['loading 1', `dd of=/${node}/data bs=4096 conv=notrunc`, 'loading 0']);
  expect(card.flash).toBe('new');
});

it("fails with the node's own words", async () => {
  failsWith = 'programming:hw-error';
  await expect(upload()).rejects.toThrow('EIO: the card refused the image (programming:hw-error)');
});

it('gives the node back when the kernel does not take the image', async () => {
  dd = { exitCode: 1, stderr: 'dd: error writing: No space left on device' };
  await expect(upload()).rejects.toThrow('No space left on device');
  expect([calls.at(-1), card.status]).toEqual(['loading -1', 'idle']);
});

it('drops an upload that an agent has begun and left', async () => {
  card = { ...card, status: 'receiving', isLoading: true };
  await upload();
  expect([calls[0], card.flash]).toEqual(['loading -1', 'new']);
});

it('cancels what the card is doing for an agent that died, and waits for its end', async () => {
  card = { ...card, status: 'programming', left: 100 };
  await upload();
  expect([calls[0], card.flash]).toEqual(['cancel 1', 'new']);
});
