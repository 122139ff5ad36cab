// A deployment moves an alias from the version before to the next one. AWS CodeDeploy refuses that
// if the alias has been moved by hand, or if an earlier release has not ended.

import { type Aws, CallRefused } from '#core/clients/aws/call.ts';
import { CheckFailed } from '#core/command-line/checks.ts';
import { shifted } from '#infra/access.ts';
import { liveAlias } from '#infra/stack/lambda-function.ts';
import type { Check } from './check.ts';

interface Alias {
  readonly FunctionVersion: string;
  readonly RoutingConfig?: { readonly AdditionalVersionWeights?: Record<string, number> };
}

export const aliasCheck: Check = {
  name: 'versions that get requests',
  remedy: 'Check the permissions lambda:GetAlias and lambda:ListVersionsByFunction.',
  look: async ({ aws, settings, facts }) => {
    if (!facts.hasStack) return 'come with the stack';
    for (const each of shifted) {
      const name = `${settings.stage}-${each}`;
      const alias = await aliasOf(aws, name);
      if (alias === undefined) continue;
      const newest = await newestOf(aws, name);
      const mend = (version: number) =>
        `aws lambda update-alias --function-name ${name} --name ${liveAlias} --function-version ${version} --routing-config AdditionalVersionWeights={}`;
      const [part] = Object.entries(alias.RoutingConfig?.AdditionalVersionWeights ?? {});
      if (part !== undefined) {
        const [version, weight] = part;
        throw new CheckFailed(
          `A release of ${name} has not ended: version ${version} gets ${100 * weight} % of the requests, and ${alias.FunctionVersion} the others.`,
          `${mend(Number(alias.FunctionVersion))}    # if no deployment is under way`,
        );
      }
      if (Number(alias.FunctionVersion) === newest) continue;
      throw new CheckFailed(
        `${name} was changed by hand: version ${alias.FunctionVersion} gets the requests, and the stack has put ${newest} in place.`,
        mend(newest),
      );
    }
    return 'those of the stack';
  },
};

/** Undefined before the first deployment that has it. */
async function aliasOf(aws: Aws, name: string): Promise<Alias | undefined> {
  const path = `/2015-03-31/functions/${name}/aliases/${liveAlias}`;
  try {
    return (await aws.get('lambda', path)) as unknown as Alias;
  } catch (error) {
    if (error instanceof CallRefused && /^(ResourceNotFoundException|404)$/.test(error.code)) {
      return undefined;
    }
    throw error;
  }
}

/** Only the stack publishes versions, and their numbers rise. */
async function newestOf(aws: Aws, name: string): Promise<number> {
  let newest = 0;
  let marker: string | undefined;
  do {
    const query: string = marker === undefined ? '' : `?Marker=${encodeURIComponent(marker)}`;
    const page = await aws.get('lambda', `/2015-03-31/functions/${name}/versions${query}`);
    const versions = page.Versions as readonly { readonly Version: string }[];
    const numbers = versions.map(({ Version }) => Number(Version)).filter(Number.isInteger);
    newest = Math.max(newest, ...numbers);
    marker = (page.NextMarker as string | null) ?? undefined;
  } while (marker !== undefined);
  return newest;
}
