// Where a function's code comes from: here, from its sources by esbuild. The package of the stack
// has library/packed-code.ts in place of this module.

import { fileURLToPath } from 'node:url';
import type { ICommandHooks, NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';
import type { FunctionName } from '#infra/access.ts';
import { metafileContext } from '#infra/settings/settings.ts';
import { aliasArguments, bundling } from './bundling.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type CodeOf = (
  scope: Construct,
  name: FunctionName,
  /** Module with the `handler`, relative to the project's root. */
  entry: string,
  /** The command that adds files to the folder of the bundle. */
  addFiles: ((folder: string) => string) | undefined,
) => NodejsFunctionProps;

export const codeOf: CodeOf = (scope, name, entry, addFiles) => ({
  entry: `${root}${entry}`,
  projectRoot: root,
  depsLockFilePath: `${root}package-lock.json`,
  bundling: {
    ...bundling,
    esbuildArgs: aliasArguments(name),
    metafile: scope.node.tryGetContext(metafileContext) === true,
    ...(addFiles && { commandHooks: afterBundling(addFiles) }),
  },
});

function afterBundling(addFiles: (folder: string) => string): ICommandHooks {
  return {
    beforeBundling: () => [],
    beforeInstall: () => [],
    afterBundling: (_inputFolder, folder) => [addFiles(folder)],
  };
}
