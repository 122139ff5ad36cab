// Whether a commit may become a release: read from git and the files that name a version.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '#infra/agent-package/run-tool.ts';

export interface TreeFacts {
  readonly branch: string;
  readonly commit: string;
  /** The lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  readonly tags: readonly string[];
  readonly version: string;
  /** Other places that repeat the version. */
  readonly repeated: Readonly<Record<string, string>>;
  /** The first heading of CHANGELOG.md. */
  readonly heading: string;
}

/** @throws PackagingFailed if the folder has no commit */
export function readTree(root: string): TreeFacts {
  const git = (...args: string[]) => runTool('git', ['-C', root, ...args]).trim();
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  const textOf = (name: string) => readFileSync(join(root, name), 'utf8');
  return {
    branch: git('rev-parse', '--abbrev-ref', 'HEAD'),
    commit: git('rev-parse', 'HEAD'),
    changes: linesOf(git('status', '--porcelain')),
    tags: linesOf(git('tag', '--list')),
    version: JSON.parse(textOf('package.json')).version,
    repeated: {
      'package-lock.json': JSON.parse(textOf('package-lock.json')).version,
      'edge-agent/version.ts':
        /agentVersion = '(.+)'/.exec(textOf('edge-agent/version.ts'))?.[1] ?? '',
    },
    heading: /^## (.+)$/m.exec(textOf('CHANGELOG.md'))?.[1] ?? '',
  };
}

export function tagOf({ version }: TreeFacts): string {
  return `v${version}`;
}

/** @returns a sentence for each reason against a release; none if it may be made */
export function faultsOf(tree: TreeFacts): readonly string[] {
  const { branch, changes, version, heading } = tree;
  const [change] = changes;
  const [, headed, date = ''] = /^\[(.+)\] - (.+)$/.exec(heading) ?? [];
  const differing = Object.entries(tree.repeated).filter(([, repeated]) => repeated !== version);
  return [
    ...(change ? [`Not committed: ${changes.length} changes, the first is ${change}`] : []),
    ...(branch === 'main' ? [] : [`A release is made from branch main, not from ${branch}.`]),
    ...differing.map(
      ([file, repeated]) => `${file} has version ${repeated}, and package.json ${version}.`,
    ),
    ...(headed === version
      ? []
      : [`CHANGELOG.md begins with "${heading}", and package.json has version ${version}.`]),
    ...(headed !== version || isDate(date)
      ? []
      : [`CHANGELOG.md needs the date of ${version} as YYYY-MM-DD in place of "${date}".`]),
    ...(tree.tags.includes(tagOf(tree)) ? [`Tag ${tagOf(tree)} exists already.`] : []),
  ];
}

function isDate(text: string): boolean {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  // The 31st of a shorter month is read as a day of the next one.
  return at !== undefined && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}
