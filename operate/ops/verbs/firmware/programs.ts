// Programs of components as the API shows them, and how a verb asks for one.

import * as z from 'zod';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { firmwareAnswer } from '#core/contracts/api/programs.ts';
import { type Answer, answer } from '#operate/ops/answers.ts';
import type { Api } from '#operate/ops/api.ts';
import { CommandFailed, exitCodes } from '#operate/ops/verb.ts';

type Needed = 'device_uuid' | 'hostname' | 'model' | 'components' | 'programs';
const firmware = answer(
  firmwareAnswer,
  'device_uuid',
  'hostname',
  'model',
  'components',
  'programs',
);
export type Firmware = Answer<typeof firmwareAnswer, Needed>;

/** How often a verb that waits looks at what it waits for. */
export const lookEveryMs = 5000;

export async function listFirmware(
  api: Api,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Firmware[]> {
  return api.list(lists.firmware.path, 'firmware', firmware, { query, limit: undefined });
}

/** @throws CommandFailed if the device has no component, or is gone */
export async function readFirmware(api: Api, device: string): Promise<Firmware> {
  const [row] = await listFirmware(api, { device });
  if (row) return row;
  throw new CommandFailed(
    exitCodes.failed,
    `Device ${device} does not exist, or no part of it can be programmed.`,
  );
}

interface ComponentRequest {
  readonly component: string;
  readonly image: string;
  readonly drains: boolean;
}

/** The same request again changes nothing. @throws CommandFailed where the API refuses it */
export async function requestProgram(
  api: Api,
  row: Firmware,
  { component, image, drains }: ComponentRequest,
): Promise<void> {
  const isShell = component === 'shell' && row.shell_deployable_uuid;
  const [path, patch] = isShell
    ? [`/v2/deployables/${row.shell_deployable_uuid}`, '/shell']
    : [`/v2/devices/${row.device_uuid}`, `/firmware/${component}`];
  const change = { op: 'add', path: patch, value: image, ...(drains && { drain: true }) };
  await api.ask('PATCH', path, z.unknown(), { body: [change] });
}

export type Progress =
  /** The component shows the version, and the device is healthy or was not programmed by us. */
  | { readonly is: 'done' }
  | { readonly is: 'failed'; readonly reason: string }
  /** With the state of the program. */
  | { readonly is: 'under-way'; readonly state: string }
  /** The program has succeeded, and the device is not healthy. */
  | { readonly is: 'unhealthy'; readonly reason: string }
  /** The program has succeeded, and the host reports another version. */
  | { readonly is: 'behind'; readonly runs: string | undefined }
  /** No program of the image is under way, and the component shows another version. */
  | { readonly is: 'open'; readonly runs: string | undefined };

export interface Wanted {
  readonly component: string;
  readonly image: string;
  readonly version: string;
}

/** How far the device is with the image. Its host reports version and health together. */
export function progressOf(row: Firmware, { component, image, version }: Wanted): Progress {
  const runs = row.components.find(({ name }) => name === component)?.version;
  const program = row.programs.find((each) => each.what === component && each.image_uuid === image);
  if (!program) return runs === version ? { is: 'done' } : { is: 'open', runs };
  const { state = '', reason } = program;
  if (state === 'failed') {
    if (runs === version && !row.health) return { is: 'done' };
    return { is: 'failed', reason: reason ?? 'The host gave no reason.' };
  }
  if (state !== 'done') return { is: 'under-way', state };
  if (runs !== version) return { is: 'behind', runs };
  return row.health ? { is: 'unhealthy', reason: row.health } : { is: 'done' };
}
