// The releases of programs that drivers run. What is recorded of a program is in test/tools/.

import type { Hardware } from '#agent/hardware/port.ts';
import { reasonOf } from '#agent/log.ts';
import type { Observation } from './driver.ts';

/** The first and the last release whose output is known. */
export interface ToolReleases {
  readonly first: string;
  readonly last: string;
}

interface Tool {
  /** The name that people know: `nvme-cli`. */
  readonly name: string;
  readonly program: string;
  /** Has it print its version. */
  readonly args: readonly string[];
  /** Undefined where no release was recorded. */
  readonly releases: ToolReleases | undefined;
}

const versionMs = 10_000;

/** @throws where the program is missing, hangs, or prints no version */
export async function readToolVersion(
  hardware: Pick<Hardware, 'exec'>,
  { name, program, args }: Omit<Tool, 'releases'>,
): Promise<string> {
  const { stdout, stderr } = await hardware.exec(name, program, args, versionMs);
  const [, version] =
    /(?:^|[^\d.])v?(\d{1,4}(?:\.\d{1,4}){1,3})\b/m.exec(`${stdout}\n${stderr}`) ?? [];
  if (version !== undefined) return version;
  throw new Error(`${program} does not show its version`);
}

/** Never rejects. */
export async function examineToolVersion(hardware: Hardware, tool: Tool): Promise<Observation> {
  const { name, program, releases } = tool;
  try {
    const version = await readToolVersion(hardware, tool);
    const what = `${name} is of version ${version}`;
    if (isRecorded(version, releases)) return { outcome: 'seen', what: `${what}.` };
    const listed = releases ? `${releases.first} to ${releases.last}` : 'none';
    return {
      outcome: 'not seen',
      what: `${what}, whose output is not known: what is not in the strict form is refused. Known versions: ${listed}.`,
    };
  } catch (error) {
    return { outcome: 'not seen', what: `${program} cannot be used: ${reasonOf(error)}.` };
  }
}

function isRecorded(version: string, releases: ToolReleases | undefined): boolean {
  if (!releases) return false;
  const { first, last } = releases;
  // 2.16.204 is of 2.16.
  const release = version.split('.').slice(0, last.split('.').length).join('.');
  return compareReleases(first, version) <= 0 && compareReleases(release, last) <= 0;
}

/** Pure. Below zero if the first one is older. */
export function compareReleases(one: string, other: string): number {
  const [a, b] = [one.split('.').map(Number), other.split('.').map(Number)];
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
