// What the package of the stack exports. docs/library.md describes it.

export { CyborgStack, type CyborgStackProps } from '../cyborg-stack.ts';
export type { CyborgSettings } from '../given-settings.ts';
export { DeploymentInvalid, type DeploymentSettings, readSettings } from '../settings.ts';
