"""Families of words that speak of the same thing, one a line, in English and Chinese.

General words of services: trade, travel, money, office, home, health, public services; nothing of one application.
"""

from __future__ import annotations

from langgraph_degrade.failures.shapes import words

FAMILIES = """
order purchase bought buy 订单 单子 下单 买了 买的 购买
stock inventory available availability left enough 库存 有货 现货 存货 缺货 还有吗
logistics shipment shipping parcel package track tracking courier transit arrived whereabouts 物流 快递 包裹 运输 签收 派送 到哪 运单
delivery deliver 配送 送货 送达 送到
ship shipped dispatch 发货 寄出
problem issue complaint complain broken break broke damage damaged defect defective fault faulty leak wrong missing repair fix malfunction stuck cracked fails incident trouble 问题 投诉 坏 碎 破 漏 堵 裂 少发 发错 错发 错了 瑕疵 售后 故障 损坏 维修 修 打不开 不能用 没反应 不工作 失灵 报修 漏发
ticket case 工单
refund reimburse reimbursement 退款 退钱 退还 退给 返还 给我退 退回
return returned 退货
exchange swap replace replacement 换货 更换 换一
cancel cancellation withdraw revoke abort stop 取消 撤销 不要了 不想要
address street road 地址 收货
change modify update edit adjust instead correct 改 修改 变更 更改 更新 改成
invoice 发票 开票
receipt 收据
bill statement 账单 对账单
pay paid payment amount price cost fee charge total money much yuan dollar 付 付了 多少钱 金额 价格 价钱 费用 收费 花了
search find look looking sell browse catalog catalogue recommend product 搜索 找 有没有 推荐 商品 想找 产品 卖
coupon voucher discount promo promotion redeem 优惠 优惠券 优惠码 折扣 代金券 促销 兑换
points loyalty reward bonus 积分 奖励
member membership vip 会员
hours open opens opening close closes closing 几点 营业 开门 关门 开放 营业时间 开放时间
store shop branch outlet 门店 店 网点 商店 分店
customer client 客户 顾客
account 账户 账号 帐号
balance remaining 余额 剩余
transfer remit wire 转账 汇款 转给 汇
card 卡 银行卡 信用卡
freeze block lock lost stolen 冻结 挂失 锁定 丢 丢了 遗失 被盗
unlock unfreeze 解锁 解冻
loan mortgage borrow credit 贷款 借款 额度
currency rate exchange-rate convert 汇率 货币 外币 换算 兑换成
transaction transactions 交易 流水 明细
insurance claim policy 保险 理赔 保单
booking reservation booked 预订 预定
reserve book 订 订一 预约
room suite 房间 房型 客房 空房
night nights stay 晚 入住 住过
checkout 退房
checkin 办理入住
breakfast meal food lunch dinner 早餐 午餐 晚餐 餐
restaurant table dine 餐厅 餐桌 吃饭
wake wake-up alarm 叫醒 闹钟 起床
taxi cab ride 出租车 叫车 打车
flight plane airline fly 航班 飞机 机票
train railway 火车 高铁 列车
bus 公交 巴士
luggage baggage suitcase 行李
seat 座位
weather forecast temperature rain sunny snow 天气 气温 下雨 预报 温度
news headline 新闻
map route direction navigate 地图 路线 导航 怎么走
traffic 路况 堵车
calendar schedule agenda 日历 日程 安排
meeting conference 会议 开会
appointment 预约 挂号
remind reminder 提醒
task todo 任务 待办
email mail 邮件 邮箱
message sms text 短信 消息
call phone dial telephone 电话 打给 拨打
file document folder 文件 文档
translate translation 翻译
calculate compute sum 计算 算
play music song 播放 音乐 歌曲
light lamp bulb 灯
doctor physician 医生 大夫
medicine prescription drug pill 药 处方
patient 病人 患者
test exam result 检查 检测 成绩 考试
course class lesson 课程 课
employee staff colleague 员工 同事
leave vacation holiday absence 请假 休假 假期
salary payroll wage 工资 薪水
expense 报销
password login pin 密码 登录
subscription subscribe plan 订阅 套餐
unsubscribe 退订
data usage 流量 用量
network internet wifi broadband outage 网络 宽带 上网
electricity power 电费 停电 用电
parking park 停车
pool swim swimming 泳池 游泳
gym fitness 健身
clean cleaning housekeeping towel 打扫 清洁 毛巾 保洁
human operator representative person 人工 客服
review rating feedback 评价 评分 反馈
warranty guarantee 保修 质保
size 尺码 尺寸 大小
history past previous 历史 记录
print 打印
property belongings item 物品 东西
"""

STOP = words(
    "the and for you your can could would please want need was are has have had with this that there from what which who "
    "how when where why did does not but its it's his her our their them get give show tell let know will shall may might "
    "one two any some all now right just like about into out off over under more most very been being were than then "
    "thanks thank hello hey yes "
    "请问 帮我 一下 我的 我要 我想 你们 你好 什么 怎么 可以 现在 这个 那个 查询 查一 麻烦 谢谢 是不 不是 没有"
)
