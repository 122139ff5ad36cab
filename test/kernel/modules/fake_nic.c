// SPDX-License-Identifier: GPL-2.0
/*
 * fake_nic: a driver of network cards with firmware, for functions of fake_pci.
 *
 *   modprobe fake_nic version=1.0
 *
 * It has no network interface. Its devlink instance shows the firmware fw.mgmt
 * that runs and the one that is stored, takes images, and reloads.
 *
 * - An image is a text, and its first line is the version that is stored. The
 *   kernel's devlink core reads the file.
 * - An image that begins with inject:ERROR fails after half of it.
 * - reload with fw_activate runs what is stored, unless fixed is set: then the
 *   driver offers driver_reinit alone, as one whose card needs a power cycle.
 */
#include <linux/firmware.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <net/devlink.h>

static char *version = "1.0";
module_param(version, charp, 0444);
static bool fixed;
module_param(fixed, bool, 0444);

struct card {
	char running[32];
	char stored[32];
};

static int info_get(struct devlink *devlink, struct devlink_info_req *req,
		    struct netlink_ext_ack *extack)
{
	struct card *c = devlink_priv(devlink);
	int err;

	err = devlink_info_driver_name_put(req, KBUILD_MODNAME);
	err = err ?: devlink_info_version_fixed_put(req, "board.id", "FAKE-1");
	err = err ?: devlink_info_version_running_put_ext(req, "fw.mgmt", c->running,
							  DEVLINK_INFO_VERSION_TYPE_COMPONENT);
	return err ?: devlink_info_version_stored_put_ext(req, "fw.mgmt", c->stored,
							  DEVLINK_INFO_VERSION_TYPE_COMPONENT);
}

static int flash_update(struct devlink *devlink, struct devlink_flash_update_params *params,
			struct netlink_ext_ack *extack)
{
	const struct firmware *fw = params->fw;
	struct card *c = devlink_priv(devlink);
	const char *part = params->component;
	size_t n;

	for (n = 0; n < fw->size && fw->data[n] != '\n'; n++)
		;
	devlink_flash_update_status_notify(devlink, "Preparing to flash", part, 0, 0);
	devlink_flash_update_status_notify(devlink, "Flashing", part, fw->size / 2, fw->size);
	if (n >= 7 && !memcmp(fw->data, "inject:", 7)) {
		NL_SET_ERR_MSG_MOD(extack, "The card refused the image");
		return -EIO;
	}
	if (n == 0 || n >= sizeof(c->stored)) {
		NL_SET_ERR_MSG_MOD(extack, "The image has no version");
		return -EINVAL;
	}
	memcpy(c->stored, fw->data, n);
	c->stored[n] = '\0';
	devlink_flash_update_status_notify(devlink, "Flashing", part, fw->size, fw->size);
	devlink_flash_update_status_notify(devlink, "Flashing done", part, 0, 0);
	return 0;
}

static int reload_down(struct devlink *devlink, bool netns_change,
		       enum devlink_reload_action action, enum devlink_reload_limit limit,
		       struct netlink_ext_ack *extack)
{
	return 0;
}

static int reload_up(struct devlink *devlink, enum devlink_reload_action action,
		     enum devlink_reload_limit limit, u32 *performed,
		     struct netlink_ext_ack *extack)
{
	struct card *c = devlink_priv(devlink);

	*performed = BIT(action);
	if (action == DEVLINK_RELOAD_ACTION_FW_ACTIVATE)
		strscpy(c->running, c->stored, sizeof(c->running));
	return 0;
}

static const struct devlink_ops reloading = {
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT) |
			  BIT(DEVLINK_RELOAD_ACTION_FW_ACTIVATE),
	.reload_down = reload_down,
	.reload_up = reload_up,
	.info_get = info_get,
	.flash_update = flash_update,
};

static const struct devlink_ops reinitializing = {
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
	.reload_down = reload_down,
	.reload_up = reload_up,
	.info_get = info_get,
	.flash_update = flash_update,
};

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	const struct devlink_ops *ops = fixed ? &reinitializing : &reloading;
	struct devlink *devlink = devlink_alloc(ops, sizeof(struct card), &pdev->dev);
	struct card *c;

	if (!devlink)
		return -ENOMEM;
	c = devlink_priv(devlink);
	strscpy(c->running, version, sizeof(c->running));
	strscpy(c->stored, version, sizeof(c->stored));
	pci_set_drvdata(pdev, devlink);
	devlink_set_features(devlink, DEVLINK_F_RELOAD);
	devlink_register(devlink);
	return 0;
}

static void end(struct pci_dev *pdev)
{
	struct devlink *devlink = pci_get_drvdata(pdev);

	devlink_unregister(devlink);
	devlink_free(devlink);
}

static const struct pci_device_id ids[] = { { PCI_DEVICE(0x15b3, 0x101d) }, { } };

static struct pci_driver nic_driver = {
	.name = "fake_nic",
	.id_table = ids,
	.probe = probe,
	.remove = end,
	.sriov_configure = pci_sriov_configure_simple,
	/* Else the kernel's own use of the function keeps VFIO from it. */
	.driver_managed_dma = true,
};

module_pci_driver(nic_driver);
MODULE_DESCRIPTION("driver of network cards with firmware and without a network, for tests");
MODULE_LICENSE("GPL");
