// SPDX-License-Identifier: GPL-2.0
// A GNSS receiver without hardware: /dev/gnss0 sends the same NMEA sentence ten times a second while it is open.

#include <linux/gnss.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>

static const char sentence[] = "$GPRMC,120000.00,A,0000.000,N,00000.000,E,000.0,000.0,010126,,,A*59\r\n";

static struct platform_device *parent;
static struct gnss_device *receiver;
static struct delayed_work talk;

static void say_sentence(struct work_struct *work)
{
	gnss_insert_raw(receiver, (const unsigned char *)sentence, sizeof(sentence) - 1);
	schedule_delayed_work(&talk, HZ / 10);
}

static int receiver_open(struct gnss_device *device)
{
	schedule_delayed_work(&talk, 1);
	return 0;
}

static void receiver_close(struct gnss_device *device)
{
	cancel_delayed_work_sync(&talk);
}

static int receiver_write(struct gnss_device *device, const unsigned char *bytes, size_t count)
{
	return count;
}

static const struct gnss_operations operations = {
	.open = receiver_open,
	.close = receiver_close,
	.write_raw = receiver_write,
};

static int __init start(void)
{
	int error;

	INIT_DELAYED_WORK(&talk, say_sentence);
	parent = platform_device_register_simple("permd_test_gnss", 0, NULL, 0);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	receiver = gnss_allocate_device(&parent->dev);
	if (!receiver) {
		platform_device_unregister(parent);
		return -ENOMEM;
	}
	receiver->type = GNSS_TYPE_NMEA;
	receiver->ops = &operations;
	error = gnss_register_device(receiver);
	if (error) {
		gnss_put_device(receiver);
		platform_device_unregister(parent);
	}
	return error;
}

static void __exit stop(void)
{
	gnss_deregister_device(receiver);
	gnss_put_device(receiver);
	platform_device_unregister(parent);
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("A GNSS receiver without hardware, for tests");
MODULE_LICENSE("GPL");
