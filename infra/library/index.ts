// What the package of the stack exports. docs/library.md describes it.

export { CyborgStack, type CyborgStackProps } from '#infra/cyborg-stack.ts';
export type { CyborgSettings } from '#infra/given-settings.ts';
export { DeploymentInvalid, type DeploymentSettings, readSettings } from '#infra/settings.ts';
