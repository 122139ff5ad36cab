import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { DeploymentInvalid, type DeploymentSettings, readSettings } from './settings/settings.ts';
import { CyborgStack } from './stack/cyborg-stack.ts';

const app = new App();
// A finding that is not acknowledged fails the synth.
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
const settings = settingsOrEnd();
new CyborgStack(app, `cyborg-${settings.stage}`, { settings });

/** Prints invalid settings as a sentence, without a stack trace. */
function settingsOrEnd(): DeploymentSettings {
  try {
    return readSettings(app.node);
  } catch (error) {
    if (!(error instanceof DeploymentInvalid)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
