import { spawnSync } from 'node:child_process';

/** The message names the tool, and is shown as it is. */
export class PackagingFailed extends Error {
  override readonly name = 'PackagingFailed';
}

/** @returns what it printed. @throws PackagingFailed */
export function runTool(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string {
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw new PackagingFailed(`${program} cannot be run: ${error.message}.`);
  if (status !== 0) {
    throw new PackagingFailed(`${program} ${args[0] ?? ''} ended with ${status}: ${stderr.trim()}`);
  }
  return stdout;
}
