import { runTool } from './run-tool.ts';

/** Packs a folder's content: the same files and time give the same archive, to the byte. */
export function archive(
  folder: string,
  file: string,
  at: number,
  exclude: readonly string[] = [],
): void {
  const excluded = exclude.map((path) => `--exclude=./${path}`);
  const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${at}`];
  // A name of the file, or the time, in gzip's header would differ.
  const gzip = '--use-compress-program=gzip -n -6';
  runTool('tar', ['-C', folder, ...excluded, ...same, gzip, '-cf', file, '.']);
}
