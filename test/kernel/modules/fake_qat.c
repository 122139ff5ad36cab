// SPDX-License-Identifier: GPL-2.0
/*
 * fake_qat: a driver of QAT cards of generation 4, for functions of fake_pci.
 *
 *   modprobe fake_qat
 *
 * It has the files and the errors of the kernel's driver for 4xxx, as its
 * documentation (sysfs-driver-qat, sysfs-driver-qat_ras, debugfs-driver-qat)
 * and its behaviour say, and no cryptography:
 *
 * - qat/state: up or down; EBUSY while `busy` is set; down removes all
 *   virtual functions
 * - qat/cfg_services: EINVAL while the card is up, and for unknown services
 * - sriov_numvfs: any number but 0 makes all virtual functions, and the card
 *   is up afterwards
 * - qat_ras and the heartbeat in debugfs: only while the card is up
 *
 * silent is a bit mask of slots of fake_pci, and may change at any time: the
 * heartbeat of these cards is -1. Any write to fail logs the driver's fatal
 * error for all cards.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

static bool busy;
module_param(busy, bool, 0644);
static unsigned int silent;
module_param(silent, uint, 0644);

static const char *const services[] = {
	"sym;asym", "asym;sym", "sym", "asym", "dc", "dcc",
	"sym;dc", "dc;sym", "asym;dc", "dc;asym",
};

struct card {
	struct pci_dev *pdev;
	struct mutex lock;
	bool up;
	const char *services;
	unsigned int asked;		/* reads of the heartbeat */
	struct dentry *folder;
	struct dentry *heartbeat;
};

static ssize_t heartbeat_read(struct file *file, char __user *to, size_t n, loff_t *at)
{
	struct card *c = file->private_data;
	const char *text = silent & BIT(PCI_SLOT(c->pdev->devfn)) ? "-1\n" : "0\n";

	if (*at > 0)
		return 0;
	c->asked++;
	/* With the zero byte at its end, as the kernel's driver. */
	return simple_read_from_buffer(to, n, at, text, strlen(text) + 1);
}

static const struct file_operations heartbeat_operations = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = heartbeat_read,
};

static ssize_t errors_correctable_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(errors_correctable);

static ssize_t errors_nonfatal_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(errors_nonfatal);

static ssize_t errors_fatal_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(errors_fatal);

static struct attribute *ras_attributes[] = {
	&dev_attr_errors_correctable.attr,
	&dev_attr_errors_nonfatal.attr,
	&dev_attr_errors_fatal.attr,
	NULL
};

static const struct attribute_group ras_group = { .name = "qat_ras", .attrs = ras_attributes };

static int card_up(struct card *c)
{
	int err;

	if (c->up)
		return 0;
	err = device_add_group(&c->pdev->dev, &ras_group);
	if (err)
		return err;
	c->heartbeat = debugfs_create_dir("heartbeat", c->folder);
	debugfs_create_file("status", 0400, c->heartbeat, c, &heartbeat_operations);
	c->up = true;
	return 0;
}

static void card_down(struct card *c)
{
	if (!c->up)
		return;
	pci_disable_sriov(c->pdev);
	debugfs_remove(c->heartbeat);
	device_remove_group(&c->pdev->dev, &ras_group);
	c->up = false;
}

static ssize_t state_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct card *c = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", c->up ? "up" : "down");
}

static ssize_t state_store(struct device *dev, struct device_attribute *a, const char *buf,
			   size_t n)
{
	struct card *c = dev_get_drvdata(dev);
	int err = 0;

	if (busy)
		return -EBUSY;
	mutex_lock(&c->lock);
	if (sysfs_streq(buf, "up"))
		err = card_up(c);
	else if (sysfs_streq(buf, "down"))
		card_down(c);
	else
		err = -EINVAL;
	mutex_unlock(&c->lock);
	return err ?: n;
}
static DEVICE_ATTR_RW(state);

static ssize_t cfg_services_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct card *c = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", c->services);
}

static ssize_t cfg_services_store(struct device *dev, struct device_attribute *a,
				  const char *buf, size_t n)
{
	struct card *c = dev_get_drvdata(dev);
	int found = sysfs_match_string(services, buf);

	if (found < 0)
		return found;
	if (c->up)
		return -EINVAL;
	c->services = services[found];
	return n;
}
static DEVICE_ATTR_RW(cfg_services);

static ssize_t num_rps_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "64\n");
}
static DEVICE_ATTR_RO(num_rps);

static struct attribute *qat_attributes[] = {
	&dev_attr_state.attr,
	&dev_attr_cfg_services.attr,
	&dev_attr_num_rps.attr,
	NULL
};

static const struct attribute_group qat_group = { .name = "qat", .attrs = qat_attributes };

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct card *c;
	char name[32];
	int err;

	if (pdev->is_virtfn)
		return -ENODEV;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->pdev = pdev;
	c->services = services[0];
	mutex_init(&c->lock);
	pci_set_drvdata(pdev, c);
	snprintf(name, sizeof(name), "qat_4xxx_%s", pci_name(pdev));
	c->folder = debugfs_create_dir(name, NULL);
	err = device_add_group(&pdev->dev, &qat_group);
	if (!err)
		err = card_up(c);
	if (err) {
		debugfs_remove(c->folder);
		kfree(c);
	}
	return err;
}

static void end(struct pci_dev *pdev)
{
	struct card *c = pci_get_drvdata(pdev);

	card_down(c);
	device_remove_group(&pdev->dev, &qat_group);
	debugfs_remove(c->folder);
	kfree(c);
}

static int configure(struct pci_dev *pdev, int wanted)
{
	struct card *c = pci_get_drvdata(pdev);
	int all = pci_sriov_get_totalvfs(pdev);
	int err = 0;

	if (busy)
		return -EBUSY;
	mutex_lock(&c->lock);
	card_down(c);
	err = card_up(c);
	if (!err && wanted)
		err = pci_enable_sriov(pdev, all);
	mutex_unlock(&c->lock);
	return err ?: (wanted ? all : 0);
}

static const struct pci_device_id ids[] = { { PCI_DEVICE(0x8086, 0x4940) }, { } };

static struct pci_driver qat_driver = {
	.name = "4xxx",
	.id_table = ids,
	.probe = probe,
	.remove = end,
	.sriov_configure = configure,
	/* Else the kernel's own use of the function keeps VFIO from it. */
	.driver_managed_dma = true,
};

static int log_fatal(struct device *dev, void *unused)
{
	dev_err(dev, "Fatal error, reset required\n");
	return 0;
}

static int fail_set(const char *text, const struct kernel_param *param)
{
	return driver_for_each_device(&qat_driver.driver, NULL, NULL, log_fatal);
}

static const struct kernel_param_ops fail_operations = { .set = fail_set };
module_param_cb(fail, &fail_operations, NULL, 0200);

module_pci_driver(qat_driver);
MODULE_DESCRIPTION("driver of QAT cards without cryptography, for tests");
MODULE_LICENSE("GPL");
