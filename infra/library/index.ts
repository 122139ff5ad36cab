// What the package of the stack exports. docs/library.md describes it.

export type { CyborgSettings } from '#infra/settings/given-settings.ts';
export {
  DeploymentInvalid,
  type DeploymentSettings,
  readSettings,
} from '#infra/settings/settings.ts';
export { CyborgStack, type CyborgStackProps } from '#infra/stack/cyborg-stack.ts';
